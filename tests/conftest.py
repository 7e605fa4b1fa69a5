"""What all tests share: hypothesis holds no stopwatch, for the machines that run them differ."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.register_profile("few", parent=settings.get_profile("untimed"), max_examples=30)
settings.load_profile("untimed")
