import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, heat):
        b, j, h, w = heat.shape
        flat = heat.reshape(b, j, h * w)
        prob = torch.softmax(flat, -1)
        return prob.reshape(b, j, h, w)


persons, joints, rows, cols = 6, 17, 36, 44


def get_inputs():
    return [torch.randn(persons, joints, rows, cols)]


def get_init_inputs():
    return []
