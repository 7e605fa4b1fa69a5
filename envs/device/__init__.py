"""Replays plans on a GPU, in a trusted process."""
