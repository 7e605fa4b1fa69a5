"""What all tests share: hypothesis holds no stopwatch, for the machines that run them differ."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", parent=settings.get_profile("untimed"), max_examples=30)
settings.load_profile("untimed")
