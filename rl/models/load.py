"""Loads a model and its tokenizer by the model's name.

A name is that of an embedded model (`rl/models/weights.py`), a local folder, or a Hub id, with
`@REVISION` behind it a branch, tag or commit.
"""

from __future__ import annotations

import logging
import os
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kernelwright.envs.system.hardware import GpuError, visible_gpus
from kernelwright.rl.models.checkpoints import is_whole_safetensors
from kernelwright.rl.models.weights import EMBEDDED, ModelError, ensure, is_cached

if TYPE_CHECKING:
    import torch

Quantization = Literal["nf4", "none"]
Dtype = Literal["auto", "bfloat16", "float16", "float32"]

MAIN = "main"
HUB_TIMEOUT_S = 5
UNANSWERED = "the Hub does not answer: check the connection"

# Tokens that vocabularies keep for padding, in the order in which they are tried.
PAD_TOKENS = ("<|endoftext|>", "<pad>", "<|pad|>", "<|finetune_right_pad_id|>", "<unk>")

TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt")


def hub_id(name: str) -> str:
    """The Hub id of an embedded model, any other name unchanged.

    >>> hub_id("smollm2-135m"), hub_id("me/mine")
    ('HuggingFaceTB/SmolLM2-135M-Instruct', 'me/mine')
    """
    return EMBEDDED[name].hub_id if name in EMBEDDED else name


def at_revision(name: str) -> tuple[str, str | None]:
    """(the name alone, its revision): None where it names none, and of what is here.

    >>> at_revision("me/mine@second"), at_revision("me/mine")
    (('me/mine', 'second'), ('me/mine', None))
    """
    if name in EMBEDDED or Path(name).exists():
        return name, None
    repo, _, revision = name.partition("@")
    return repo, revision or None


def resolve(name: str) -> str:
    """What transformers can load: a folder, or the name unchanged if it can be a Hub id.

    An embedded model is downloaded and converted at its first use.
    """
    check_name(name)
    return str(ensure(name)) if name in EMBEDDED else name


def is_here(name: str) -> bool:
    """Whether a model can be loaded without fetching anything; False for a Hub id."""
    return Path(name).is_dir() or (name in EMBEDDED and is_cached(name))


def check_name(name: str) -> None:
    """Raises ModelError for what can be no model: neither embedded, nor a folder, nor a Hub id."""
    if name in EMBEDDED:
        return
    if Path(name).is_dir():
        if not (Path(name) / "config.json").is_file():
            raise ModelError(f"{name} holds no model: no config.json in it")
        return
    repo, _ = at_revision(name)
    if repo.count("/") != 1 or not all(repo.split("/")):
        known = ", ".join(EMBEDDED)
        raise ModelError(
            f"no model {name!r}: give one of {known}, a folder, a Hub id owner/name, or "
            "openai:MODEL@ADDRESS"
        )


def source_of(name: str) -> tuple[str, str]:
    """(folder, or id of a model on a Hub that answers, or else its earlier download; revision), as
    transformers takes them. Raises ModelError."""
    from huggingface_hub import constants, try_to_load_from_cache

    source, revision = at_revision(resolve(name))
    if Path(source).is_dir() or hub_answers():
        return source, revision or MAIN
    cached = try_to_load_from_cache(source, "config.json", revision=revision)
    if not isinstance(cached, str):
        why = "HF_HUB_OFFLINE is set: unset it" if constants.HF_HUB_OFFLINE else UNANSWERED
        raise ModelError(
            f"{name} is not on this machine and {why}, or set model.name to "
            f"{' or '.join(EMBEDDED)}, or to a local folder"
        )
    return str(Path(cached).parent), MAIN


def weights_folder(name: str) -> Path:
    """The folder of a whole model's weights, downloaded where they are a repository's. Raises
    ModelError."""
    from huggingface_hub import snapshot_download

    source, revision = source_of(name)
    if Path(source).is_dir():
        return Path(source)
    with errors_in_one_line(name):
        patterns = ["*.safetensors", "*.json"]
        return Path(snapshot_download(source, revision=revision, allow_patterns=patterns))


@cache
def hub_answers() -> bool:
    """Asked once per process; huggingface_hub itself would retry for half a minute per file."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    request = urllib.request.Request(constants.ENDPOINT, method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=HUB_TIMEOUT_S).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def load_base(
    name: str,
    *,
    quantization: Quantization = "none",
    dtype: Dtype = "auto",
    device: str | None = None,
) -> Any:
    """The causal language model, in evaluation mode, with no gradient asked for yet.

    `device` None means the GPU where there is one. NF4 on a CPU computes with dequantised copies
    (`rl/models/quantize.py` says why, and what they cost).
    """
    from transformers import AutoModelForCausalLM

    from kernelwright.rl.models.quantize import cache_dequantized, nf4_config

    hush_libraries()
    device = device or ("cuda" if on_gpu() else "cpu")
    torch_dtype = compute_dtype(dtype, device)
    config = nf4_config(torch_dtype) if quantization == "nf4" else None
    source, revision = source_of(name)
    with errors_in_one_line(name):
        model = AutoModelForCausalLM.from_pretrained(
            source,
            revision=revision,
            dtype=torch_dtype,
            device_map={"": placed(device)},
            quantization_config=config,
        )
    if quantization == "nf4" and device == "cpu":
        cache_dequantized(model)
    return model.eval()


def on_gpu() -> bool:
    """Whether this process's models run on a GPU. Raises GpuError where the judge does not see it:
    what was planned without a GPU would be trained on one, and its kernels judged without."""
    import torch

    if reason := unseen_gpu():
        raise GpuError(reason)
    return torch.cuda.is_available()


def unseen_gpu() -> str | None:
    """Why an NVIDIA GPU that torch uses is none for the judge; None where they agree."""
    import torch

    if torch.version.cuda is None or not torch.cuda.is_available() or visible_gpus():
        return None
    return (
        f"torch uses {torch.cuda.get_device_name(0)}, and nvidia-smi lists no GPU for the judge: "
        "put the driver's nvidia-smi on PATH, or hide the GPU with CUDA_VISIBLE_DEVICES="
    )


def placed(device: str) -> str | int:
    """Where the weights go: with several processes to the GPU of this one, by its number, which is
    what accelerate wants of quantised weights."""
    import torch

    joined = torch.distributed.is_available() and torch.distributed.is_initialized()
    return torch.cuda.current_device() if device == "cuda" and joined else device


def load_tokenizer(name: str) -> Any:
    """The tokenizer, padding on the left, with a padding token that does not end a text.

    Where padding and end of text share a token (SmolLM2: `<|im_end|>`), a loss that ignores
    padding also ignores the one token that teaches the model to stop. Then another token of the
    vocabulary pads; if there is none, the end of text does.
    """
    from transformers import AutoTokenizer

    source, revision = source_of(name)
    if Path(source).is_dir() and not any((Path(source) / one).exists() for one in TOKENIZER_FILES):
        raise ModelError(f"{name} holds no tokenizer: none of {', '.join(TOKENIZER_FILES)} in it")
    with errors_in_one_line(name):
        tokenizer = AutoTokenizer.from_pretrained(source, revision=revision, padding_side="left")
    if tokenizer.pad_token_id in (None, tokenizer.eos_token_id):
        known = tokenizer.get_vocab()
        spare = (one for one in PAD_TOKENS if one in known and one != tokenizer.eos_token)
        tokenizer.pad_token = next(spare, tokenizer.eos_token)
    return tokenizer


@contextmanager
def errors_in_one_line(name: str) -> Iterator[None]:
    """What transformers and PEFT raise about a folder's content, as a ModelError of one line."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        first = str(error).strip().partition("\n")[0] or type(error).__name__
        raise ModelError(f"{name} could not be loaded: {first}") from error


def load_generation_config(name: str) -> Any:
    """How a model says that it is sampled, its end tokens among it."""
    from transformers import AutoConfig, GenerationConfig

    source, revision = source_of(name)
    with errors_in_one_line(name):
        try:
            return GenerationConfig.from_pretrained(source, revision=revision)
        except OSError:  # it has no such file
            config = AutoConfig.from_pretrained(source, revision=revision)
            return GenerationConfig.from_model_config(config)


def check_loadable(name: str) -> None:
    """Raises ModelError where the configuration, tokenizer or weights cannot be loaded.

    Weights are not read, only whether their files are whole. An embedded model is downloaded.
    """
    from transformers import AutoConfig

    hush_libraries()
    where, revision = source_of(name)
    source = Path(where)
    with errors_in_one_line(name):
        AutoConfig.from_pretrained(where, revision=revision)
    if not load_tokenizer(name).chat_template:
        raise ModelError(f"{name}: its tokenizer has no chat template: take an instruct model")
    if source.is_dir():
        for file in sorted(source.glob("*.safetensors")):
            if not is_whole_safetensors(file):
                raise ModelError(f"{file} is damaged: its end is missing; download it again")


def hush_libraries() -> None:
    """Silence what libraries write about each other and nobody here can act on.

    Progress bars for reading weights that are on disk already, and for tokenizing rows;
    bitsandbytes missing an optional kernel that is never used here; PEFT and TRL asking
    transformers 5.23 for a renamed property; TRL quoting each row without a reward, which an
    unjudged answer is.
    """
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)
    logging.getLogger("trl.trainer.grpo_trainer").addFilter(_is_news)
    warnings.filterwarnings("ignore", "`is_gradient_checkpointing` is deprecated", FutureWarning)
    warnings.filterwarnings("ignore", "You are using 'rollout_func'", UserWarning)


def _is_news(record: logging.LogRecord) -> bool:
    return "All reward functions returned None" not in record.getMessage()


def compute_dtype(dtype: Dtype, device: str) -> torch.dtype:
    """`auto` is bfloat16 where the device multiplies it faster, float32 elsewhere."""
    import torch

    if dtype != "auto":
        named: torch.dtype = getattr(torch, dtype)
        return named
    if device.startswith("cuda"):
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = _cpu_is_faster_in_bfloat16()
    return torch.bfloat16 if fast else torch.float32


def _cpu_is_faster_in_bfloat16() -> bool:
    """Whether the CPU has AMX, or AVX512-BF16 that is not Intel's (Linux; False where none says).

    Without AMX an Intel core multiplies as much in float32: measured on one, products of this size
    took 1.4 to 1.8 times as long in bfloat16, a training pass 1.3 to 1.6 times. Whoever tells torch
    to use AVX2 only (`ATEN_CPU_CAPABILITY`) has neither.
    """
    import torch

    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return "amx_bf16" in flags or ("avx512_bf16" in flags and "GenuineIntel" not in flags)
