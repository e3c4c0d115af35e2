"""Small programs that run outside the daemon; standard library only, they start fast."""
