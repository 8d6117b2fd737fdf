"""Git's objects: from a pack to the files of a tree, and to a repository."""
