"""What can be asked of Rookery, by any of its APIs."""
