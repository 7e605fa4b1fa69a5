"""The sandbox in which compilers and answers run."""
