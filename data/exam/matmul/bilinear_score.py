import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, head_dim, tail_dim):
        super().__init__()
        self.relation = nn.Parameter(torch.randn(head_dim, tail_dim) / head_dim)

    def forward(self, head, tail):
        return torch.einsum('bi,ij,bj->b', head, self.relation, tail)


HEAD_DIM = 50
TAIL_DIM = 44
FACTS = 900


def get_inputs():
    return [torch.randn(FACTS, HEAD_DIM), torch.randn(FACTS, TAIL_DIM)]


def get_init_inputs():
    return [HEAD_DIM, TAIL_DIM]
