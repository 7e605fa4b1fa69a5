import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 100
IN_FEATURES = 96
OUT_FEATURES = 180


class Model(nn.Module):
    """fc -> scale -> clamp -> logsumexp -> z * mish(z)"""

    def __init__(self, in_features, out_features, scale, clamp):
        super().__init__()
        self.fc = nn.Linear(in_features, out_features)
        self.scale = scale
        self.clamp = clamp

    def forward(self, x):
        y = torch.clamp(self.fc(x) * self.scale, -self.clamp, self.clamp)
        z = torch.logsumexp(y, dim=1, keepdim=True)
        return z * F.mish(z)


def get_inputs():
    return [torch.randn(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, 2.0, 3.0]
