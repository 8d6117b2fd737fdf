"""
The source policy: which plugin trees are refused for what their sources do.

The pinned bundler, which will compile the plugin, reads each source and writes it as
plain JavaScript; that is what is checked.  ::

    scan          Scanner and refuse: what other rooms call
    hits          what was found where
    tree          which files are scanned, which are exempt
    shape         rules on the text of a file: minified, packed, obfuscated
    imports       rules on what a file imports
    packages      what a package.json makes an import mean
    styles        what a style sheet refers to
    escapes       the escapes in strings and names
    service       the bundler's process, within limits
    conversation  all that it is asked and answers, as bytes
    packets       the packets of its protocol
    transform     what it is asked about one source
    output        what its output breaks
    tokens        the output as tokens and brackets
    patterns      what brackets mean: arguments, keys, patterns
    aliases       names that stand for global objects
    lines         which line of the source a place in the output is from
    rules         the table of refused constructs
    advice        what an author can do about each

Nothing of a plugin is ever run, and the policy is not a sandbox.
"""
