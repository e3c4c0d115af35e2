"""Sessions in panes of a private tmux server."""
