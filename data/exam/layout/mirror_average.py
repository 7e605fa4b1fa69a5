import torch
import torch.nn as nn


class Model(nn.Module):
    """Test-time augmentation: the mean of a prediction and its mirrored twin."""

    def forward(self, pred, pred_of_mirrored):
        back = torch.flip(pred_of_mirrored, dims=(3,))
        return (pred + back).div(2.0)


n, k, h, w = 6, 9, 60, 75


def get_inputs():
    return [torch.randn(n, k, h, w), torch.randn(n, k, h, w)]
