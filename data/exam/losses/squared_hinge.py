import torch
import torch.nn as nn

class Model(nn.Module):
    """Squared hinge of scores against labels of -1 and 1."""

    def forward(self, scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        slack = torch.clamp(1.0 - labels * scores, min=0.0)
        return torch.mean(slack * slack, dim=-1)

tasks = 80
examples = 1500

def get_inputs():
    labels = torch.randint(0, 2, (tasks, examples)).float() * 2 - 1
    return [torch.randn(tasks, examples), labels]

def get_init_inputs():
    return []
