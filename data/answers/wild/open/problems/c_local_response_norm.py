import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
CHANNELS = 36
HEIGHT = 26
WIDTH = 26
SIZE = 5


class Model(nn.Module):
    def __init__(self, size, alpha, beta, k):
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, x):
        return F.local_response_norm(x, self.size, self.alpha, self.beta, self.k)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH) * 3]


def get_init_inputs():
    return [SIZE, 0.5, 0.75, 2.0]
