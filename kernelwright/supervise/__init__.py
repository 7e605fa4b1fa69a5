"""A run in a child process; how it ended, and how to go on."""
