"""Right kernels with one fault each: rows that teach repair and preference, and a kill score."""
