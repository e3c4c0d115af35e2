"""The life of a session: start, adoption, expiry and end."""
