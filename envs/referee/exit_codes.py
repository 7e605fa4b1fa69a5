"""Exit codes of a candidate's process: what each says about the answer.

Nothing to its advantage: an answer that ends its own process with one of them only convicts itself.
"""

from __future__ import annotations

from envs.types import Verdict

EXITS = {
    65: (Verdict.CRASHED, "not_loadable"),
    67: (Verdict.CRASHED, "out_of_memory"),
    70: (Verdict.WRONG, "other_parameters"),
    71: (Verdict.WRONG, "not_a_tensor"),
    72: (Verdict.WRONG, "other_shape"),
    73: (Verdict.WRONG, "other_dtype"),
    74: (Verdict.CHEATED, "torch_compute"),
    75: (Verdict.CHEATED, "not_compiled"),
    76: (Verdict.CHEATED, "forbidden_code"),
}
"""65 and 67 are native/harden.h's; 70 to 76 are guest/compute_guard.py's."""
