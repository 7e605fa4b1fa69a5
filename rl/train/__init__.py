"""SFT, GRPO, and what surrounds their steps."""
