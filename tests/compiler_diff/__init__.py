"""
Random programs, built by the real build and scanned: what is live must be found.

The oracle is the bundler's own scope analysis, in the configuration of the build: free
names are defined as marks, and words that are members or strings are marks themselves
in the program that is built.  What is live is what holds a mark in the bundle.
"""
