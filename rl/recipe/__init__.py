"""The recipe's schema, and which of TRL's options it may pass on."""
