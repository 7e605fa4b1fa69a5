"""Turns a step's tasks into judged rows."""
