import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    '''Hinge on the gap between two squared distances.'''

    def __init__(self, margin: float = 0.5):
        super().__init__()
        self.margin = margin

    @staticmethod
    def sq_dist(a, b):
        return (a - b).pow(2).sum(1)

    def forward(self, anchor, positive, negative):
        d_pos = self.sq_dist(anchor, positive)
        d_neg = self.sq_dist(anchor, negative)
        return F.relu(d_pos - d_neg + self.margin)


TRIPLETS, EMB = 900, 128


def get_inputs():
    return [torch.randn(TRIPLETS, EMB), torch.randn(TRIPLETS, EMB), torch.randn(TRIPLETS, EMB)]


def get_init_inputs():
    return [6.0]
