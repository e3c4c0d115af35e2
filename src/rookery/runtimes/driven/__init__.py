"""Sessions without a terminal, in the driver host."""
