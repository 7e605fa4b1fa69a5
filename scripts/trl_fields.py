"""Writes `rl/recipe/trl_fields.json`: the options of TRL's config classes and their types.

So that a recipe's `trainer:` options are checked without importing TRL. Run it when TRL moves:
`python -m scripts.trl_fields`.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

TARGET = Path(__file__).parents[1] / "rl" / "recipe" / "trl_fields.json"


def installed_fields() -> dict[str, dict[str, str]]:
    """Config class → option → its type, as `int | None`, of the TRL that is installed."""
    from trl import DPOConfig, GRPOConfig, SFTConfig

    return {
        config.__name__: {
            one.name: getattr(one.type, "__name__", None) or str(one.type)
            for one in sorted(fields(config), key=lambda one: one.name)
            if one.init
        }
        for config in (SFTConfig, DPOConfig, GRPOConfig)
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(installed_fields(), indent=1) + "\n", encoding="utf-8")
