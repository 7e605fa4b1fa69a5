import torch
import torch.nn as nn

N = 3
H = 100
W = 120


class Model(nn.Module):
    def forward(self, img):
        return 255 - img


def get_inputs():
    return [torch.randint(0, 256, (N, H, W), dtype=torch.uint8)]


def get_init_inputs():
    return []
