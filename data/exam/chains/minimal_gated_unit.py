import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inp, hid):
        super().__init__()
        self.wf = nn.Linear(inp + hid, hid)
        self.wh = nn.Linear(inp + hid, hid)

    def forward(self, x_t, h_prev):
        f = torch.sigmoid(self.wf(torch.cat([x_t, h_prev], dim=-1)))
        candidate = torch.tanh(self.wh(torch.cat([x_t, f * h_prev], dim=-1)))
        h_t = (1 - f) * h_prev + f * candidate
        return h_t


INP, HID = 30, 50
BATCH = 110


def get_inputs():
    return [torch.randn(BATCH, INP), torch.randn(BATCH, HID)]


def get_init_inputs():
    return [INP, HID]
