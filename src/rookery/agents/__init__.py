"""Everything that Rookery knows of one agent program, a package each. Pure: text in, facts out.

Only ``driver``, in some packages, does I/O: it runs in the driver host.

``names`` has the list of them. This module imports nothing: ``names`` must load quickly.
"""
