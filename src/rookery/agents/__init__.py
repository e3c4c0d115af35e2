"""Everything that Rookery knows of one agent program, a package each. Pure: text in, facts out.

``catalog`` has the one list of them. This module imports nothing: ``names`` must load quickly.
"""
