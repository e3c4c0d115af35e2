"""An agent to try things with: it behaves like a real one and obeys a tiny script."""
