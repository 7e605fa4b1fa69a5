"""A recipe's file and words in, a checked recipe out."""
