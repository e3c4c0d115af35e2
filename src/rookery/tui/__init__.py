"""The terminal interface: a screen that stays open and shows which session needs you."""
