"""SGLang's Triton kernel for chains, in both of its modes, as subjects on a GPU.

pytest --losslesscheck-subject reports/engines/sglang_chain.py:chain

The kernel's file imports triton alone, so it is loaded by its path: that of an installed sglang (0.5.21
or later), or the one in SGLANG_REJECT_SAMPLING.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import torch

from losslesscheck.testing import subject

DEVICE = "cuda"


def _kernel() -> Any:
    path = os.environ.get("SGLANG_REJECT_SAMPLING")
    if path is None:
        package = importlib.util.find_spec("sglang")
        if package is None or package.origin is None:
            raise ImportError("sglang is not installed; SGLANG_REJECT_SAMPLING may name the kernel's file")
        path = str(Path(package.origin).parent / "kernels/ops/speculative/reject_sampling.py")
    spec = importlib.util.spec_from_file_location("sglang_reject_sampling", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.chain_speculative_sampling_triton


KERNEL = _kernel()


def verify(
    target: torch.Tensor,
    draft: torch.Tensor,
    tokens: torch.Tensor,
    coins: torch.Tensor,
    final: torch.Tensor,
    *,
    block: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    """SGLang counts the root as a slot; the coin of draft token i stands in slot i."""
    rows, count = tokens.shape
    slots = count + 1
    index = torch.arange(rows * slots, device=target.device).view(rows, slots)
    predicts = torch.full((rows * slots,), -1, dtype=torch.int32, device=target.device)
    accept_index = torch.full((rows, slots), -1, dtype=torch.int32, device=target.device)
    accepted = torch.zeros(rows, dtype=torch.int32, device=target.device)
    if rows:
        KERNEL(
            predicts,
            accept_index,
            accepted,
            torch.nn.functional.pad(tokens, (1, 0)),
            index,
            index,
            index,
            torch.nn.functional.pad(coins, (0, 1)),
            final.contiguous(),
            target,
            draft,
            1.0,
            1.0,
            True,
            block_verification=block,
        )
    return predicts.view(rows, slots), accepted


@subject(rule="chain_kernel", array="torch", device=DEVICE)
def chain(
    target: torch.Tensor, draft: torch.Tensor, tokens: torch.Tensor, coins: torch.Tensor, final: torch.Tensor
) -> Any:
    return verify(target, draft, tokens, coins, final, block=False)


@subject(rule="block_verification", array="torch", device=DEVICE)
def block_verification(
    target: torch.Tensor, draft: torch.Tensor, tokens: torch.Tensor, coins: torch.Tensor, final: torch.Tensor
) -> Any:
    return verify(target, draft, tokens, coins, final, block=True)
