"""Everything that Rookery knows about each agent program, in a package or module of its own.

All of it is pure (text in, facts out), except ``driver`` in some packages, which does I/O in
the driver host. ``names`` lists the packages. This module imports nothing, so that ``names``
loads quickly.
"""
