"""Accelerators and models with the figures that a roofline needs, each with its source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance.base import check_count
from losslesscheck.sim.cost.checks import positive


@dataclass(frozen=True)
class Hardware:
    """One accelerator.

    Attributes:
        bandwidth: of its memory, bytes a second.
        flops: peak of dense 16-bit matrix products accumulated in 32 bits, operations a second.
        memory: bytes.
        link: to its peers, bytes a second in each direction.
        source: of the figures.

    Raises:
        InputError: if a figure is not positive.
    """

    name: str
    bandwidth: float
    flops: float
    memory: float
    link: float
    source: str = ""

    def __post_init__(self) -> None:
        for figure in ("bandwidth", "flops", "memory", "link"):
            object.__setattr__(self, figure, positive(figure, getattr(self, figure)))


@dataclass(frozen=True)
class Transformer:
    """The shape of a transformer that decodes.

    Attributes:
        layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary: the usual sizes.
        ffn_matrices: 3 with a gate (SwiGLU, GEGLU), else 2.
        cross_attention: whether its layers also attend to an encoder.
        tied: whether the input embedding is the output projection.
        source: of the figures.

    Raises:
        InputError: if a size is no positive integer, or the heads are no multiple of the KV heads.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocabulary: int
    ffn_matrices: int = 3
    cross_attention: bool = False
    tied: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        sizes = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocabulary", "ffn_matrices")
        for size in sizes:
            check_count(size, getattr(self, size), least=1)
        if self.heads % self.kv_heads:
            raise InputError(f"heads: {self.heads} is no multiple of kv_heads = {self.kv_heads}")

    @property
    def weights(self) -> int:
        """Weights that a decoding pass multiplies with: all but the input embedding, a look-up, and norms."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        if self.cross_attention:
            # The encoder's keys and values are projected once for the whole sequence.
            attention += self.hidden * self.head_dim * 2 * self.heads
        layer = attention + self.ffn_matrices * self.hidden * self.ffn
        return self.layers * layer + self.vocabulary * self.hidden

    def kv_bytes(self, bytes_per_value: float = 2.0) -> float:
        """Bytes of KV cache for one token."""
        return 2.0 * self.layers * self.kv_heads * self.head_dim * bytes_per_value


def hardware(name: str) -> Hardware:
    """The accelerator of that name.

    Raises:
        InputError: with the names that there are.

    >>> hardware("H100-SXM").bandwidth
    3350000000000.0
    """
    entry = _entry("hardware", name)
    return Hardware(
        name,
        bandwidth=entry["bandwidth_gb_s"] * 1e9,
        flops=entry["tflops"] * 1e12,
        memory=entry["memory_gb"] * 1e9,
        link=entry["link_gb_s"] * 1e9,
        source=entry["source"],
    )


def transformer(name: str) -> Transformer:
    """The model of that name.

    Raises:
        InputError: with the names that there are.

    >>> transformer("Llama-3.1-8B").layers
    32
    """
    return Transformer(name, **_entry("transformer", name))


def hardware_names() -> tuple[str, ...]:
    """The accelerators with presets."""
    return tuple(_presets("hardware"))


def transformer_names() -> tuple[str, ...]:
    """The models with presets."""
    return tuple(_presets("transformer"))


def _entry(kind: str, name: str) -> Any:
    presets = _presets(kind)
    if name not in presets:
        raise InputError(f"{kind}: {name!r} is unknown; known are {', '.join(presets)}")
    return presets[name]


@cache
def _presets(kind: str) -> Mapping[str, Any]:
    text = (resources.files("losslesscheck.sim.cost") / "data" / f"{kind}.json").read_text(encoding="utf-8")
    presets: dict[str, Any] = json.loads(text)
    return presets
