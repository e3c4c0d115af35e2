"""Small programs that run outside the daemon; to start fast, they use no other packages."""
