"""The operators that graphs are drawn from, by what they are like."""
