"""A suite in KernelBench's layout and stored answers to it, all of our own."""

from __future__ import annotations

from pathlib import Path

HEAD = "import torch\nimport torch.nn as nn\n\nN = 8192\nM = 40\n\n\nclass Model(nn.Module):\n"
TAIL = """

def get_inputs():
    return [torch.rand(N, M)]


def get_init_inputs():
    return []
"""
SHIFT = """    def forward(self, x):
        return torch.relu(x - 0.5)
"""
NORM = """    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(M)

    def forward(self, x):
        return self.bn(x)
"""
LINEAR = """    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(M, 8)

    def forward(self, x):
        return self.fc(x)
"""
DROPOUT = """    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x) * 2.0
"""
SUITE = {
    "level1/1_Shift.py": SHIFT,
    "level1/2_Norm.py": NORM,
    "level2/1_Linear.py": LINEAR,
    "level2/2_Dropout.py": DROPOUT,
}

INLINE_SHIFT = '''import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
torch::Tensor shift(torch::Tensor x) {
  auto out = torch::empty_like(x);
  const float* xp = x.data_ptr<float>();
  float* op = out.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) op[i] = xp[i] > 0.5f ? xp[i] - 0.5f : 0.0f;
  return out;
}
"""
ext = load_inline(name="shift_ext", cpp_sources=source, functions=["shift"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.shift(x)
'''
WHOLE_OUTPUT = """#include <cstdint>
#include <cmath>
extern "C" void kernel(const float* x, {state}float* out, int64_t n, int64_t m{dims}) {{
  for (int64_t i = 0; i < n; ++i) for (int64_t j = 0; j < m; ++j) {{
    int64_t at = i * m + j;
    out[at] = {value};
  }}
}}
"""
LINEAR_CPP = """#include <cstdint>
extern "C" void kernel(const float* x, const float* w, const float* b, float* out,
                       int64_t n, int64_t k, int64_t m, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t i = 0; i < n; ++i) for (int64_t j = 0; j < m; ++j) {
    float s = b[j];
    for (int64_t l = 0; l < k; ++l) s += x[i * k + l] * w[j * k + l];
    out[i * m + j] = s;
  }
}
"""


def cpp(value: str, state: str = "", dims: str = ", int64_t, int64_t") -> str:
    return WHOLE_OUTPUT.format(value=value, state=state, dims=dims)


NORM_STATE = "const float* w, const float* b, const float* mean, const float* var, const int64_t*, "
NORM_CPP = cpp(
    "(x[at] - mean[j]) / std::sqrt(var[j] + 1e-5f) * w[j] + b[j]",
    NORM_STATE,
    ", int64_t, int64_t, int64_t, int64_t, int64_t, int64_t",
)
SHIFTED = "(x[at] > 0.5f ? x[at] - 0.5f : 0.0f)"
ANSWERS = {
    "level_1_problem_1_sample_0_kernel.py": INLINE_SHIFT,
    "level_1_problem_1_sample_1_kernel.cpp": cpp(f"{SHIFTED} + 0.00005f"),
    "level_1_problem_1_sample_2_kernel.cpp": "this is no C++",
    "level_1_problem_1_sample_3_kernel.py": "\n",
    "level_1_problem_2_sample_0_kernel.cpp": NORM_CPP,
    "level_2_problem_1_sample_0_kernel.cpp": LINEAR_CPP,
    "level_2_problem_2_sample_0_kernel.cpp": cpp("2.0f * x[at]"),
    "level_7_problem_9_sample_0_kernel.cpp": "no such problem",
    "eval_results.json": "{}",
}


def write_suite(root: Path) -> Path:
    for name, body in SUITE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(HEAD + body + TAIL)
    return root


def write_answers(root: Path, names: list[str] | None = None) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for name in names or ANSWERS:
        (root / name).write_text(ANSWERS[name])
    return root
