"""Public data sets that are not brought in, each with its reason."""

from __future__ import annotations

EXAM = "its problems are those of an exam (KernelBench's, or its own)"
NO_LICENCE = "it declares no licence"
NO_PROBLEM = "its rows have kernels and no module to hold them against"
EVALUATION_ONLY = "its licence allows evaluation only"

REFUSED = {
    "ScalingIntelligence/KernelBench": EXAM,
    "ScalingIntelligence/kernelbench-samples": EXAM,
    "SakanaAI/AI-CUDA-Engineer-Archive": EXAM,
    "wzzll123/MultiKernelBench": EXAM,
    "makora-ai/triton-gpu-latency": EXAM,
    "nvidia/SOL-ExecBench": EVALUATION_ONLY,
    "nvidia/compute-eval": EVALUATION_ONLY,
    "lkongam/ConCuR": NO_LICENCE,
    "thunlp/TritonBench": NO_PROBLEM,
    "GPUMODE/categorized_triton_data_permissive": NO_PROBLEM,
    "nvidia/OpenCodeInstruct": NO_PROBLEM,
}
"""By its id on the Hub."""
