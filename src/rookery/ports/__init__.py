"""What we ask of the outside world, and nothing about how it answers."""
