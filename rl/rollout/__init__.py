"""A step's tasks to judged rows."""
