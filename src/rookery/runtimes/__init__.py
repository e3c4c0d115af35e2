"""Holders of sessions: what runs them and what is seen of them."""
