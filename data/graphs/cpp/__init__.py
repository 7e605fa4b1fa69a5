"""Loop nests as C++, with the schedule that is fast on one core."""
