"""Loop nests as Triton: a function for each, and the `ModelNew` that launches them."""
