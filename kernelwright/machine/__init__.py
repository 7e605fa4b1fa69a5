"""This machine and this installation, examined."""
