"""What a recipe will cost here, and why it cannot run."""
