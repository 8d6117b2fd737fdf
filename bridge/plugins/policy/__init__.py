"""
The source policy: which plugin trees are refused for what their sources do.

The pinned bundler, which will compile the plugin, reads each source and writes it as
plain JavaScript; that is what is checked.  ::

    scan         Scanner and refuse: what other rooms call
    hits         what was found where

    rules/       what is refused: the table of constructs, an author's remedies, and
                 the rules on text and imports
    reader/      the bundler's process, its packets, what it is asked about a source
    javascript/  its output as tokens, and what that breaks

Nothing of a plugin is ever run, and the policy is not a sandbox.
"""
