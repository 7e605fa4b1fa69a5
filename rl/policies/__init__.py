"""Policies: they complete prompts, for training and evaluation."""
