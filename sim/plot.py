"""The plot of a sweep: speedup over what was swept, one line for every other setting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.sim.sweep import Sweep

LABELS = {"draft_length": "draft length γ", "alpha": "acceptance α", "c": "draft cost c"}
SHORT = {"draft_length": "γ", "alpha": "α", "c": "c"}
SUFFIXES = (".png", ".svg", ".pdf")
LINES = 7
"""Lines that can be told apart."""

PANELS = 3


def check_path(path: Path) -> None:
    """Raises an ``InputError`` if no plot can be written there."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"plot: {path} ends in none of {', '.join(SUFFIXES)}")
    check_folder("plot", path)


def check_folder(name: str, path: Path) -> None:
    """Raises an ``InputError`` if there is no folder for a file."""
    if not path.parent.is_dir():
        raise InputError(f"{name}: there is no folder {path.parent}")


def plot(sweep: Sweep, path: Path) -> None:
    """Writes the plot of a sweep, in the format that the file's name says.

    The setting with most values is the axis, the next one tells the lines apart, the third the panels. Of
    more than ``LINES`` or ``PANELS`` values evenly spaced ones are shown, and the title says so.

    Raises:
        InputError: for another format, a folder that there is not, or a sweep of a single point.
    """
    check_path(path)
    if not sweep.swept:
        raise InputError("plot: a single point; sweep over α, γ or c")
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    axis, *others = sweep.swept
    lines, panels = (_values(sweep, others[i : i + 1], most) for i, most in ((0, LINES), (1, PANELS)))
    figure = Figure(figsize=(7 if len(panels) == 1 else 4 * len(panels), 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    colours = colormaps["viridis"](np.linspace(0, 0.85, len(lines)))
    every_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(every_axes, panels, strict=True):
        here = _chosen(sweep, others[1:], panel)
        for value, colour in zip(lines, colours, strict=True):
            place = np.flatnonzero(here & _chosen(sweep, others[:1], value))
            place = place[np.argsort(getattr(sweep, axis)[place], kind="stable")]
            x, y = getattr(sweep, axis)[place], sweep.speedup[place]
            label = f"{SHORT[others[0]]} = {value:g}" if others else None
            axes.plot(x, y, color=colour, label=label, marker="o" if len(x) <= 24 else None, markersize=3)
            best = int(y.argmax())
            axes.plot(x[best], y[best], marker="D", markersize=6, color=colour)
        axes.axhline(1.0, color="0.6", linewidth=0.8, linestyle="--")
        axes.set_xlabel(LABELS[axis])
        if len(panels) > 1:
            axes.set_title(f"{SHORT[others[1]]} = {panel:g}")
        if axis == "draft_length":
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    every_axes[0].set_ylabel("speedup over plain decoding")
    if others:
        every_axes[-1].legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    figure.suptitle(_caption(sweep, others), fontsize="small", color="0.4")
    figure.savefig(path, dpi=150)


def _values(sweep: Sweep, name: list[str], most: int) -> list[float]:
    """The values of a setting, evenly spaced ones of them if there are too many."""
    if not name:
        return [0.0]
    every = np.unique(getattr(sweep, name[0]))
    places = np.linspace(0, len(every) - 1, min(most, len(every))).round().astype(int)
    values: list[float] = every[places].tolist()
    return values


def _chosen(sweep: Sweep, name: list[str], value: float) -> npt.NDArray[np.bool_]:
    if not name:
        return np.ones(len(sweep), dtype=bool)
    chosen: npt.NDArray[np.bool_] = getattr(sweep, name[0]) == value
    return chosen


def _caption(sweep: Sweep, others: list[str]) -> str:
    left_out = []
    for name, most in zip(others, (LINES, PANELS), strict=False):
        if (count := len(np.unique(getattr(sweep, name)))) > most:
            left_out.append(f"{most} of {count} values of {SHORT[name]}")
    return "; ".join(["diamonds: the best of a line", *left_out])
