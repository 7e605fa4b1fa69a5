import torch
import torch.nn as nn


class Model(nn.Module):
    """Negative log-likelihood of normals given by mean and log-variance, summed per item."""

    def forward(self,mu,log_var,y):
        sq=(y - mu) ** 2
        nll=0.5 * (log_var + sq * torch.exp(-log_var))
        return nll.sum(dim=-1)


ITEMS=400
DIMS=150


def get_inputs():
    mu=torch.randn(ITEMS,DIMS)
    log_var=0.5 * torch.randn(ITEMS,DIMS)
    y=torch.randn(ITEMS,DIMS)
    return [mu,log_var,y]


def get_init_inputs():
    return []
