"""Everything that Rookery knows of one agent program, a package each. Pure: text in, facts out.

``names`` has the list of them. This module imports nothing: ``names`` must load quickly.
"""
