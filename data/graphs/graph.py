"""A graph of operators: the statements of a module, and the kernel that does the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kernelwright.data.graphs.kernel import Kernel
from kernelwright.data.graphs.nests import Dim, Elements, Nest, Shape, Step, is_plain
from kernelwright.data.graphs.operator import Node, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Nodes in order: each takes the value of the one before it, the first one `inputs[0]`."""

    category: str
    inputs: tuple[Tensor, ...]
    nodes: tuple[Node, ...]
    constants: tuple[tuple[str, int], ...]
    """Module-level names of sizes."""

    @property
    def signature(self) -> str:
        """The operators with their dimensions and windows, and the rank: sizes aside."""
        parts = (f"{one.operator}[{one.key}]" if one.key else one.operator for one in self.nodes)
        return f"{len(self.inputs[0].shape)}d:{'|'.join(parts)}"

    @property
    def family(self) -> str:
        return "_".join(one.operator for one in self.nodes)

    @property
    def state(self) -> tuple[Tensor, ...]:
        """Parameters and buffers in `state_dict` order: a module's own before those of layers."""
        own = [one for node in self.nodes for one in node.state if _is_own(node)]
        return (*own, *(one for node in self.nodes if not _is_own(node) for one in node.state))

    def kernel(self) -> Kernel:
        nests = fused(self.nodes, self.inputs[0])
        last = self.nodes[-1].shape
        out = Tensor(
            name="out",
            shape=tuple(Dim(f"out_{d}", one.size) for d, one in enumerate(last)),
            c_type=nests[-1].c_type,
        )
        worked_out = _name_after_output(nests, last)
        return Kernel(
            inputs=self.inputs,
            state=self.state,
            out=out,
            nests=tuple(nests),
            worked_out=worked_out,
        )


def _is_own(node: Node) -> bool:
    return node.layer[1].startswith("nn.Parameter")


def fused(nodes: Iterable[Node], first: Tensor) -> list[Nest]:
    """The nests of a chain: steps on elements join the nest before them, or the one after."""
    done: list[Nest] = []
    for node in nodes:
        here = done[-1] if done else None
        match node.work:
            case Step() as step if here is not None and here.takes_after(step):
                here.after.append(step)
            case Step() as step:
                shape = here.shape if here is not None else first.shape
                source = here.source if here is not None else first.name
                new = Elements(says="elements", source=source, taken=shape, shape=shape)
                new.after.append(step)
                done.append(new)
            case nest:
                nest = _copied(nest)
                if isinstance(here, Elements) and nest.takes_before([*here.after, *nest.before]):
                    nest.before[:0] = here.after
                    nest.source = here.source
                    done.pop()
                done.append(nest)
    return done


def _copied(nest: Nest) -> Nest:
    return replace(nest, before=list(nest.before), after=list(nest.after))


def _name_after_output(nests: list[Nest], last: Shape) -> tuple[tuple[str, str], ...]:
    """Sizes that have to be worked out are those of `out` where they are; returns these."""
    known = {one.text: f"out_{d}" for d, one in enumerate(last) if not is_plain(one.text)}

    def named(shape: Shape) -> Shape:
        return tuple(replace(one, text=known.get(one.text, one.text)) for one in shape)

    for one in nests:
        one.shape, one.taken = named(one.shape), named(one.taken)
    return tuple((name, text) for text, name in known.items())
