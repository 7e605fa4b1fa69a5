"""A recipe's stages, run in a folder."""
