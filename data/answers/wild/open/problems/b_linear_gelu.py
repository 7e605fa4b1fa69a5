import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_FEATURES = 192
OUT_FEATURES = 250


class Model(nn.Module):
    """Linear layer followed by exact GELU."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.fc = nn.Linear(in_features, out_features)

    def forward(self, x):
        return F.gelu(self.fc(x))


def get_inputs():
    return [torch.randn(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
