"""Words and answers on their way to agents."""
