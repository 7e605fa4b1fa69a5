"""Writes `rl/trl_fields.json`: the option names of TRL's config classes.

So that a recipe's `trainer:` keys are checked without importing TRL. Run it when TRL's bounds move:
`python -m scripts.trl_fields`.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

TARGET = Path(__file__).parents[1] / "rl" / "trl_fields.json"


def installed_fields() -> dict[str, list[str]]:
    """Config class → its sorted option names, of the TRL that is installed."""
    from trl import GRPOConfig, SFTConfig

    return {
        config.__name__: sorted(one.name for one in fields(config) if one.init)
        for config in (SFTConfig, GRPOConfig)
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(installed_fields(), indent=1) + "\n", encoding="utf-8")
