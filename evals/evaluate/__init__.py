"""A policy or stored answers in, judged records out."""
