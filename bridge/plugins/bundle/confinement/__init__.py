"""Each plugin alone: bound to a scope of its own, in a page that is frozen first."""
