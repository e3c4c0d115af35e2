"""The tmux runtimes: Rookery's private server and the user's own ones."""
