"""Public data sets that may be trained on, one file each; and those that are refused by name."""
