import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self,beta: float,alpha: float):
        super().__init__()
        self.beta=beta
        self.alpha=alpha

    def forward(self,acc,lhs,rhs):
        return torch.baddbmm(acc,lhs,rhs,beta=self.beta,alpha=self.alpha)


B=14
M=65
K=70
N=33


def get_inputs():
    return [torch.randn(B,M,N),torch.randn(B,M,K),torch.randn(B,K,N)]


def get_init_inputs():
    return [0.25,1.5]
