import torch
import torch.nn as nn

H = W = 48
C = 12
B = 4


class Model(nn.Module):
    def forward(self, img):
        s = img.sigmoid()
        s = torch.log1p(s)
        return img.mul(s)


def get_inputs():
    return [torch.randn(B, C, H, W)]


def get_init_inputs():
    return []
