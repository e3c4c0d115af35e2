"""Our hooks in the settings of agents that people start themselves: put in, and taken out."""
