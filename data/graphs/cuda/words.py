"""Expressions and functions of CUDA: what lanes and warps hand to each other."""

from __future__ import annotations

import re

from kernelwright.data.graphs.cpp.rows import STARTS
from kernelwright.data.graphs.cpp.words import number
from kernelwright.data.graphs.words import Words

NAMES = {"max": "fmaxf", "min": "fminf", "abs": "fabsf"}
"""Functions that are not called as in C with an `f` at the end."""
CUDA = Words(lambda op: NAMES.get(op, f"{op}f"), number)

_WARP = """\
__device__ float warp_{kind}(float v) {{
  for (int k = 16; k > 0; k /= 2) {join};
  return v;
}}
"""
_BLOCK = """\
__device__ float block_{kind}(float v) {{
  __shared__ float part[32];
  v = warp_{kind}(v);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  v = warp_{kind}(threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : {start});
  __syncthreads();
  return v;
}}
"""
_COLUMN = """\
__device__ float column_{kind}(float v) {{
  __shared__ float part[32][32];
  part[threadIdx.y][threadIdx.x] = v;
  __syncthreads();
  v = part[0][threadIdx.x];
  for (int k = 1; k < blockDim.y; ++k) {join};
  __syncthreads();
  return v;
}}
"""
_BETTER = """\
{pad}if (t {sign} s || (t == s && place < best)) {{
{pad}  s = t;
{pad}  best = place;
{pad}}}
"""
_WARP_PLACE = """\
__device__ void warp_arg{kind}(float& s, int& best) {{
  for (int k = 16; k > 0; k /= 2) {{
    float t = __shfl_xor_sync(~0u, s, k);
    int place = __shfl_xor_sync(~0u, best, k);
{better}  }}
}}
"""
_BLOCK_PLACE = """\
__device__ void block_arg{kind}(float& s, int& best) {{
  __shared__ float part[32];
  __shared__ int places[32];
  warp_arg{kind}(s, best);
  if (threadIdx.x % 32 == 0) {{
    part[threadIdx.x / 32] = s;
    places[threadIdx.x / 32] = best;
  }}
  __syncthreads();
  bool inside = threadIdx.x % 32 < blockDim.x / 32;
  s = inside ? part[threadIdx.x % 32] : {start};
  best = inside ? places[threadIdx.x % 32] : 0;
  warp_arg{kind}(s, best);
}}
"""
_COLUMN_PLACE = """\
__device__ void column_arg{kind}(float& s, int& best) {{
  __shared__ float part[32][32];
  __shared__ int places[32][32];
  part[threadIdx.y][threadIdx.x] = s;
  places[threadIdx.y][threadIdx.x] = best;
  __syncthreads();
  for (int k = 0; k < blockDim.y; ++k) {{
    float t = part[k][threadIdx.x];
    int place = places[k][threadIdx.x];
{better}  }}
}}
"""
_WARP_RUNNING = """\
__device__ float warp_cum{kind}(float v, float& s) {{
  int lane = threadIdx.x % 32;
  for (int k = 1; k < 32; k *= 2) {{
    float before = __shfl_up_sync(~0u, v, k);
    if (lane >= k) v {sign}= before;
  }}
  v {sign}= s;
  s = __shfl_sync(~0u, v, 31);
  return v;
}}
"""
_BLOCK_RUNNING = """\
__device__ float block_cum{kind}(float v, float& s) {{
  __shared__ float part[8];
  float start = {start};
  v = warp_cum{kind}(v, start);
  if (threadIdx.x % 32 == 31) part[threadIdx.x / 32] = v;
  __syncthreads();
  for (int k = 0; k < 8; ++k) {{
    if (k == threadIdx.x / 32) v {sign}= s;
    s {sign}= part[k];
  }}
  __syncthreads();
  return v;
}}
"""
TEXTS = {
    "warp_": _WARP,
    "block_": _BLOCK,
    "column_": _COLUMN,
    "warp_arg": _WARP_PLACE,
    "block_arg": _BLOCK_PLACE,
    "column_arg": _COLUMN_PLACE,
    "warp_cum": _WARP_RUNNING,
    "block_cum": _BLOCK_RUNNING,
}
_CALLED = re.compile(r"\b((?:warp|block|column)_(?:arg|cum)?)(sum|prod|max|min)\(")


def helpers(body: str) -> str:
    """The `__device__` functions that it calls, each behind those that it calls itself.

    >>> helpers("s = warp_sum(s);").splitlines()[0]
    '__device__ float warp_sum(float v) {'
    """
    found: dict[str, None] = {}
    for scope, kind in _CALLED.findall(body):
        if scope.startswith("block"):
            found[_helper(scope.replace("block", "warp"), kind)] = None
        found[_helper(scope, kind)] = None
    return "".join(f"{one}\n" for one in found)


def _helper(scope: str, kind: str) -> str:
    joins = "__shfl_xor_sync(~0u, v, k)" if scope == "warp_" else "part[k][threadIdx.x]"
    sign = {"sum": "+", "prod": "*", "max": ">", "min": "<"}[kind]
    better = _BETTER.format(sign=sign, pad="    ")
    return TEXTS[scope].format(
        kind=kind, sign=sign, start=STARTS[kind], join=joined("v", kind, joins), better=better
    )


def joined(one: str, kind: str, other: str) -> str:
    """The statement that takes in one more number, without its semicolon.

    >>> joined("s", "sum", "v * v"), joined("m", "max", "v")
    ('s += v * v', 'm = fmaxf(m, v)')
    """
    if kind in ("sum", "prod"):
        return f"{one} {'+' if kind == 'sum' else '*'}= {other}"
    return f"{one} = {NAMES[kind]}({one}, {other})"
