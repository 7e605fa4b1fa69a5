import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.square().mean(dim=(2, 3)).sqrt()


images = 24
planes = 18
rows = 33
columns = 29


def get_inputs():
    return [torch.randn(images, planes, rows, columns)]


def get_init_inputs():
    return []
