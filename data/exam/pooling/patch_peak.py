import torch
import torch.nn as nn

PATCH = 4

class Model(nn.Module):
    def forward(self, x):
        b, c, h, w = x.shape
        x = x.reshape(b, c, h // PATCH, PATCH, w // PATCH, PATCH)
        return x.amax(dim=(3, 5))

B, C = 3, 12
PATCHES_H = 12
PATCHES_W = 15

def get_inputs():
    return [torch.randn(B, C, PATCHES_H * PATCH, PATCHES_W * PATCH)]

def get_init_inputs():
    return []
