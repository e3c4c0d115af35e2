"""The driver host: a process that drives agents through their protocols, without a terminal.

It outlives the daemon, as the tmux server does for sessions in panes. The daemon sends it
commands on a socket; each session's events are appended to a file that the daemon reads.
"""
