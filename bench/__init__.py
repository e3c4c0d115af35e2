"""What Rookery costs, measured beside the naive way in the same run: ``python -m bench``."""
