"""Records in, numbers out."""
