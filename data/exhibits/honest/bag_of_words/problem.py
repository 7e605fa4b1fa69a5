import torch
import torch.nn as nn

BAGS = 40
WORDS = 14
TABLE = 60
WIDTH = 20


class Model(nn.Module):
    def __init__(self, table, width):
        super().__init__()
        self.words = nn.EmbeddingBag(table, width, mode="mean")

    def forward(self, index):
        return self.words(index)


def get_inputs():
    return [torch.randint(0, TABLE, (BAGS, WORDS))]


def get_init_inputs():
    return [TABLE, WIDTH]
