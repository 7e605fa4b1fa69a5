"""Methods of GRPO: how each prompts, samples and credits."""
