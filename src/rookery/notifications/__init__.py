"""Tell a person what sessions do: through channels outside of Rookery's own commands."""
