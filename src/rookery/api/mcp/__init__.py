"""Offer the operations to agents as tools, over the Model Context Protocol."""
