"""A pass timed by its roofline: bytes over bandwidth against operations over peak, kernel by kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance.base import check_count
from losslesscheck.sim.cost.checks import Figures, FloatArray, figures, plain, positive
from losslesscheck.sim.cost.passes import Pass
from losslesscheck.sim.cost.presets import Hardware, Transformer


@dataclass(frozen=True)
class Roofline(Pass):
    """The time of a pass of ``model`` on ``hardware``, from below: peak rates, no time between kernels.

    The matrix products read every weight once and take 2 operations a weight and token; attention reads the
    KV cache of every sequence once, however many new tokens look at it, and takes 4 · heads · head size
    operations a layer, new token and cached token. Each of the two takes the longer of its reading and its
    arithmetic, and they follow one another. With tensor parallelism both are shared out, and every layer
    ends in two all-reduces of the activations (a ring).

    Args:
        tensor_parallel: accelerators that share every layer.
        per_layer: seconds that a layer costs whatever its size: launches and, with tensor parallelism, the
            latency of its two all-reduces. No datasheet has it; it is why a draft model for many
            accelerators is wide and shallow (Chen et al. 2023, Sec. 2).
        overhead: seconds that a pass costs whatever its size.
        bytes_per_weight, bytes_per_kv: 2 for 16-bit numbers.
        bandwidth_share, compute_share: what part of the peak rates is reached, in (0, 1].

    Raises:
        InputError: naming what is not positive or out of range.

    >>> from losslesscheck.sim.cost.presets import hardware, transformer
    >>> round(Roofline(transformer("LLaMA-2-7B"), hardware("A100-80GB")).seconds(1) * 1e3, 2)  # ms
    6.48
    """

    model: Transformer
    hardware: Hardware
    tensor_parallel: int = 1
    per_layer: float = 0.0
    overhead: float = 0.0
    bytes_per_weight: float = 2.0
    bytes_per_kv: float = 2.0
    bandwidth_share: float = 1.0
    compute_share: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.model, Transformer):
            raise InputError(f"model: {self.model!r} is no Transformer")
        if not isinstance(self.hardware, Hardware):
            raise InputError(f"hardware: {self.hardware!r} is no Hardware")
        check_count("tensor_parallel", self.tensor_parallel, least=1)
        for name in ("per_layer", "overhead"):
            figures(name, getattr(self, name), least=0.0)
        for name in ("bytes_per_weight", "bytes_per_kv"):
            positive(name, getattr(self, name))
        for name in ("bandwidth_share", "compute_share"):
            if positive(name, getattr(self, name)) > 1:
                raise InputError(f"{name}: {getattr(self, name):g} is above 1")

    def _seconds(self, tokens: FloatArray, batch: FloatArray, context: FloatArray) -> FloatArray:
        model = self.model
        rows = batch * tokens
        seen = context + tokens
        products = self._longer(
            model.weights * self.bytes_per_weight / self.tensor_parallel,
            2.0 * model.weights * rows / self.tensor_parallel,
        )
        # KV heads can't be split further: beyond that many accelerators each keeps a copy.
        kv_split = min(self.tensor_parallel, model.kv_heads)
        attention = self._longer(
            batch * seen * model.kv_bytes(self.bytes_per_kv) / kv_split,
            4.0 * model.layers * model.heads * model.head_dim * rows * seen / self.tensor_parallel,
        )
        return np.asarray(
            products + attention + self.all_reduce(rows) + model.layers * self.per_layer + self.overhead
        )

    def all_reduce(self, rows: FloatArray) -> FloatArray:
        """Seconds that the all-reduces of a pass take on the links, 16-bit activations; shape of ``rows``."""
        share = 2.0 * (self.tensor_parallel - 1) / self.tensor_parallel
        return np.asarray(2 * self.model.layers * share * rows * self.model.hidden * 2.0 / self.hardware.link)

    def memory(self, *, batch: npt.ArrayLike = 1, context: npt.ArrayLike = 0) -> Figures:
        """Bytes of weights and KV cache on each accelerator; activations are not counted."""
        model = self.model
        # The input embedding is kept too, though it is not read as a whole.
        weights = model.weights + (0 if model.tied else model.vocabulary * model.hidden)
        cached = figures("batch", batch, least=1.0) * figures("context", context, least=0.0)
        kv = cached * model.kv_bytes(self.bytes_per_kv) / min(self.tensor_parallel, model.kv_heads)
        return plain(np.asarray(weights * self.bytes_per_weight / self.tensor_parallel + kv))

    def largest_batch(self, *, context: float) -> int:
        """Sequences of that context whose KV cache fits beside the weights; 0 if the weights don't."""
        weights, one = self.memory(context=0), self.memory(context=positive("context", context))
        return max(0, int((self.hardware.memory - float(weights)) // float(one - weights)))

    def _longer(self, read: float | FloatArray, operations: FloatArray) -> FloatArray:
        return np.maximum(
            read / (self.hardware.bandwidth * self.bandwidth_share),
            operations / (self.hardware.flops * self.compute_share),
        )
