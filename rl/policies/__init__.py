"""What completes prompts, for training and evaluation."""
