"""One file a search mode."""
