import torch
import torch.nn as nn


class Model(nn.Module):
    """Additive attention of one decoder state over the encoder's states."""

    def __init__(self,dim: int):
        super().__init__()
        self.v=nn.Parameter(torch.randn(dim) * 0.3)

    def forward(self,decoder_state,encoder_states):
        energy=torch.tanh(encoder_states + decoder_state.unsqueeze(1)) @ self.v
        alpha=torch.softmax(energy,dim=1)
        return (alpha.unsqueeze(-1) * encoder_states).sum(dim=1)


dim=64
batch=6
source_len=75


def get_inputs():
    return [torch.randn(batch,dim),torch.randn(batch,source_len,dim)]


def get_init_inputs():
    return [dim]
