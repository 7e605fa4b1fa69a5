"""Operators by which PyTorch makes and moves tensors, and computes nothing."""

MOVES = frozenset(
    """
    alias arange as_strided chunk clone contiguous copy_ detach detach_ diagonal empty empty_like
    empty_strided expand fill_ flatten full full_like lift_fresh narrow new_empty
    new_empty_strided new_full new_ones new_zeros ones ones_like permute reshape resize_
    scalar_tensor select set_ slice split split_with_sizes squeeze t transpose unbind unfold
    unsqueeze view view_as_real zero_ zeros zeros_like _local_scalar_dense _reshape_alias
    _to_copy _unsafe_view
    """.split()  # noqa: SIM905
)
"""What PyTorch may do for an answer: make tensors, move them, look at them differently."""

COMPOSED = frozenset(
    "expand_as item movedim swapaxes to type_as unflatten view_as".split()  # noqa: SIM905
)
"""The same, composed of them: what a library may ask for, where Python is not asked again."""
