"""Benchmarks of Rookery, each beside a naive method in the same run: ``python -m bench``."""
