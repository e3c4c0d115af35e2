"""The daemon's interfaces: one table of operations, served over HTTP, MCP and hooks."""
