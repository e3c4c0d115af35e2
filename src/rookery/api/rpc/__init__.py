"""JSON-RPC 2.0: every operation as a method, and five methods that other tools use."""
