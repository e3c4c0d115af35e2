"""Sessions that wait for others, and sessions that talk to each other."""
