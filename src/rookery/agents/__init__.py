"""The dialects of the agents: pure, text in, facts out."""
