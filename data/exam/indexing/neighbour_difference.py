import torch
import torch.nn as nn


class Model(nn.Module):
    """Difference of the features at both ends of each edge of a graph."""

    def forward(self, nodes, src, dst):
        return torch.index_select(nodes, 0, src) - torch.index_select(nodes, 0, dst)


NODES = 400
EDGES = 2100
FEATURES = 96


def get_inputs():
    nodes = torch.randn(NODES, FEATURES)
    src = torch.randint(0, NODES, (EDGES,))
    dst = torch.randint(0, NODES, (EDGES,))
    return [nodes, src, dst]


def get_init_inputs():
    return []
