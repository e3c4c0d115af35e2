"""What the recordings of each agent must be read as."""
