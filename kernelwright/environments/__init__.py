"""The judge as an environment of other trainers: TRL's, `verifiers`' and OpenEnv's."""
