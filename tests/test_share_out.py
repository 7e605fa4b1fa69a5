"""Processes of one training share a cluster's nodes, and of a node its cores."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.remote.ray_nodes import share_out


@given(st.integers(0, 12), st.integers(1, 30))
def test_processes_share_a_cluster_without_sharing_a_place(nodes: int, of: int) -> None:
    names = [f"node{number:02}" for number in range(nodes)]
    shares = [share_out(names, which, of) for which in range(of)]
    places = [place for share in shares for place in share.items()]
    assert len(places) == len(set(places))
    assert {name for name, _ in places} == set(names)
    assert all(shares) or not names
    for name in names:
        wholes = [share for node, share in places if node == name]
        assert sorted(wholes) == [(which, len(wholes)) for which in range(len(wholes))]
