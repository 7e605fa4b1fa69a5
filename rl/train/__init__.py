"""Training stages: SFT and GRPO, with their probes, callbacks and validation."""
