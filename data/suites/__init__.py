"""Sets of problems, by one spec string; one file a layout."""
