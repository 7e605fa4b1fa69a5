"""Plans played on a GPU, by a trusted process of ours."""
