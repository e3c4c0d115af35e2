"""The doors: one table of operations, and the faces that dispatch over it."""
