"""A model that says what a test wants; real programs talk to it as to their vendor's."""
