"""Whether the reasoning of an example is true of its kernel, read off text and code alone."""
