"""Plans: an answer's recorded launches and copies, for replay on a GPU or a CPU."""
