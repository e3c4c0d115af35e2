"""Installs and removes Rookery's hooks in the settings of agents."""
