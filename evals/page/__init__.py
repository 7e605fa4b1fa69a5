"""Numbers and records in, one page out."""
