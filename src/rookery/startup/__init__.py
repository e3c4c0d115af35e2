"""What the daemon does once when it starts: build its parts, prepare its store."""
