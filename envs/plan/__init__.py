"""Plans: what an answer launches, written down, for a GPU or a CPU to play."""
