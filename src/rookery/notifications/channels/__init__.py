"""The channels that carry notifications, one module each."""
