"""How operations are reached: HTTP, MCP, the event streams and the hook socket."""
