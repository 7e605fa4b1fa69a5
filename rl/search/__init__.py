"""Test-time search: many answers to one problem, each made from what is known of the others."""
