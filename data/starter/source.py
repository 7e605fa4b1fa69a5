"""A plan in, the PyTorch text of its problem out."""

from __future__ import annotations

from data.starter.ops import OPS, REDUCERS
from data.starter.plan import KIND_TORCH, PARAMETERS, Plan, Step, dimensions


def problem_code(plan: Plan, sizes: dict[str, int]) -> str:
    """The whole module: imports, sizes, `Model`, `get_inputs`, `get_init_inputs`."""
    model = model_code(plan)
    imports = ["import torch", "import torch.nn as nn"]
    imports += ["import torch.nn.functional as F"] if "F." in model else []
    inputs = ", ".join(_draw(plan, name) for name in plan.arguments)
    init = ", ".join(_init_arguments(plan)).upper()
    return "\n".join(
        [
            *imports,
            "",
            *(f"{name} = {size}" for name, size in sizes.items()),
            "",
            "",
            model,
            "",
            "",
            "def get_inputs():",
            f"    return [{inputs}]",
            "",
            "",
            "def get_init_inputs():",
            f"    return [{init}]",
            "",
        ]
    )


def model_code(plan: Plan) -> str:
    """The class `Model`, as short as it can be read."""
    lines = ["class Model(nn.Module):"]
    if plan.parameters:
        lines.append(f"    def __init__(self, {', '.join(_init_arguments(plan))}):")
        lines.append("        super().__init__()")
        linear = plan.kind == "linear"
        for name in plan.parameters:
            shape = "n, k" if linear and name == "w" else "n"
            lines.append(f"        self.{name} = nn.Parameter(torch.randn({shape}))")
        lines.append("")
    lines.append(f"    def forward({', '.join(('self', *plan.arguments))}):")
    return "\n".join(lines + [f"        {line}" for line in _forward(plan)])


def apply(steps: tuple[Step, ...], text: str) -> str:
    """The nested PyTorch text of these steps applied to `text`."""
    for step in steps:
        op = OPS[step.op]
        inner = f"({text})" if op.infix and _is_infix(text) else text
        operand = f"self.{step.operand}" if step.operand in PARAMETERS else step.operand
        text = op.torch.format(inner, operand)
    return text


def _is_infix(text: str) -> bool:
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and (letter == " " or (letter == "-" and position == 0)):
            return True
    return False


def _forward(plan: Plan) -> list[str]:
    if plan.kind == "map":
        cut = 2 if len(plan.before) > 2 else 0
        lines = [f"v = {apply(plan.before[:cut], 'x')}"] if cut else []
        return [*lines, f"return {apply(plan.before[cut:], 'v' if cut else 'x')}"]
    named = bool(plan.before) and (
        len(plan.before) > 1 or plan.kind in ("rejoin", "pair", "layer_norm") or len(plan.reduce) > 1
    )
    lines = [f"v = {apply(plan.before, 'x')}"] if named else []
    value = "v" if named else apply(plan.before, "x")
    return [*lines, f"return {_pattern(plan, value)}"]


def _pattern(plan: Plan, value: str) -> str:
    if plan.kind == "pair":
        return ", ".join(apply((Step(head),), value) for head in plan.heads)
    if plan.kind in ("row", "column"):
        dim = 1 if plan.kind == "row" else 0
        reduced = [REDUCERS[one].torch.format(value, d=dim) for one in plan.reduce]
        return ", ".join(apply(plan.after, one) for one in reduced)
    if plan.kind == "rejoin":
        (reducer,) = plan.reduce
        kept = REDUCERS[reducer].torch.format(value, d="1, keepdim=True")
        return apply(plan.after, OPS[plan.join].torch.format(value, kept))
    return apply(plan.after, KIND_TORCH[plan.kind].format(v=value, k=plan.window))


def _init_arguments(plan: Plan) -> list[str]:
    if not plan.parameters:
        return []
    return ["k", "n"] if plan.kind == "linear" else ["n"]


def _draw(plan: Plan, name: str) -> str:
    if name == "s":
        return "0.7"
    shape = ", ".join(dimensions(plan, name))
    return f"torch.rand({shape}) + 0.5" if _is_positive(plan, name) else f"torch.randn({shape})"


def _is_positive(plan: Plan, name: str) -> bool:
    """Whether an input has to be positive for the plan to be defined and well-conditioned."""
    if name != "x":
        return any(step == Step("div", name) for step in plan.steps)
    first = plan.before[0].op if plan.before else ""
    divides_by_sum = plan.join == "div" and plan.reduce in (("sum",), ("mean",))
    return (bool(first) and OPS[first].positive) or divides_by_sum
