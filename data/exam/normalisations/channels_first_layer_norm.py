import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self,channels,eps=1e-6):
        super().__init__()
        self.gamma=nn.Parameter(torch.ones(channels,1,1))
        self.beta=nn.Parameter(torch.zeros(channels,1,1))
        self.eps=eps

    def forward(self,x):
        u=x.mean(1,keepdim=True)
        s=(x - u).pow(2).mean(1,keepdim=True)
        x=(x - u) / torch.sqrt(s + self.eps)
        return self.gamma * x + self.beta


C,H,W=36,26,42


def get_inputs():
    return [torch.randn(3,C,H,W)]


def get_init_inputs():
    return [C]
