"""A run's adapter, card and numbers for the Hub."""
