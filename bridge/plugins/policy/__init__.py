"""
The source policy: which plugin trees are refused for what their sources do.

::

    scan        scan_tree, scan_source and refuse: what other rooms call
    hits        what was found where
    tree        which files are scanned, which are exempt
    shape       rules on the text of a file: minified, packed, obfuscated
    imports     rules on what a file imports
    packages    what a package.json makes an import mean
    styles      what a style sheet refers to
    source      what the syntax of one file breaks; loads the parser
    parsing     source text into syntax nodes, in pieces of bounded cost
    budget      what the sources of one tree may cost to parse
    escapes     the escapes in strings and names
    literals    what a constant expression evaluates to
    scopes      which names mean the global object's
    constructs  the table of refused constructs
    calls       which arguments of which calls are refused
    reading     the walk over a file's syntax nodes
    judging     how each kind of node is judged
    declaring   what each kind of node declares
    finding     what has been found out about one file
    kinds       which kinds of node the walk treats how

The scan reads; it never runs anything, and it is not a sandbox.
"""
