"""What is known about sessions, and from which source: hooks, screens, files, processes."""
