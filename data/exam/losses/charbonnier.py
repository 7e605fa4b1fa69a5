import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, eps=0.05):
        super(Model, self).__init__()
        self.eps2 = eps * eps

    def forward(self, restored, clean):
        diff = restored - clean
        return torch.sqrt(diff * diff + self.eps2).mean(dim=-1)


B, C, H, W = 3, 3, 90, 110


def get_inputs():
    return [torch.rand(B, C, H, W), torch.rand(B, C, H, W)]


def get_init_inputs():
    return [0.05]
