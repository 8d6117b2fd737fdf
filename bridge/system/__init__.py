"""
What differs between operating systems: the rights of files, locks, processes, signals.

A port to another system is a change of this package. Each function works on every
system; where one has nothing to do on a system, its docstring notes it. What belongs to
one system as a whole, such as the message box of Windows, is a class where it is used.
"""
