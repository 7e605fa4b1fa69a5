import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, smooth=1.0):
        super().__init__()
        self.smooth = smooth

    def forward(self, logits, mask):
        prob = logits.sigmoid().flatten(1)
        mask = mask.flatten(1)
        overlap = (prob * mask).sum(1)
        total = prob.sum(1) + mask.sum(1)
        return 1 - (2 * overlap + self.smooth) / (total + self.smooth)


N = 400
H = 12
W = 17


def get_inputs():
    return [torch.randn(N, 1, H, W), (torch.rand(N, 1, H, W) < 0.4).float()]


def get_init_inputs():
    return [1.0]
