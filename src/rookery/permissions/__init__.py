"""Whether a tool call may run: rules, questions to people, and their answers."""
