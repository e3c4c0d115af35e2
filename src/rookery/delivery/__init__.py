"""Deliver messages and answers to agents."""
