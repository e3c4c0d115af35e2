"""The options of Rookery's own tmux server; ``attach_bar`` sets those of its status line."""

from __future__ import annotations

#: Columns and rows of a pane to which no terminal is attached.
SIZE = "200x50"

CONFIGURATION = """\
set -s exit-empty off
set -s set-clipboard off
set -s escape-time 10
set -s focus-events on
set -g default-terminal tmux-256color
set -g default-size {size}
set -g history-limit {lines}
set -g remain-on-exit on
set -g allow-rename off
set -g update-environment ''
set -g status-interval 1
set -g status-right '#(:)'
set -gq allow-passthrough off
set -gq remain-on-exit-format ''
set-hook -g pane-died 'send-keys -R'
"""

# The last line: if a program asked for focus events and has ended, tmux 3.3 tries to send it
# one when a client detaches, and crashes with all its panes. It may not have noticed the end,
# if a SIGCHLD was lost and no daemon sends it again: hence the command that the status line
# runs once a second while a client is attached. The exit of that command causes another
# SIGCHLD.
