"""
The source policy: which plugin trees are refused for what their sources do.

The pinned bundler, which will compile the plugin, reads each source and writes it as
plain JavaScript; that is what is checked.  ::

    scan         Scanner and refuse, what other packages call; and the rules on text
    reading      what the bundler is asked about a source
    javascript/  its output as tokens, and what that breaks
    rules        what is refused: the table of constructs with an author's remedies, and
                 the rules on imports

Nothing of a plugin is ever run, and the policy is not a sandbox.
"""
