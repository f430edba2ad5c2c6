"""How predictions look: as JSON, and in the terminal."""

from __future__ import annotations

from typing import Any

SHOWN = 40
"""Points of a sweep that are shown."""

LENGTHS = 18
"""Lines for the law of the accepted lengths."""


def as_dict(found: Any, prediction: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    row = found.rows()[0]
    return {
        "tokens_per_step": row["tokens_per_step"],
        "speedup": row["speedup"],
        "operations_factor": row["operations_factor"],
        "method": row["method"],
        "interval": None if prediction.interval is None else list(prediction.interval),
        "confidence": prediction.confidence,
        "steps": prediction.steps,
        "accepted": prediction.lengths.tolist(),
        "draft_length": row["draft_length"],
        "draft_tokens": row["draft_tokens"],
        "inputs": inputs,
    }


METHODS = {
    "closed-form": "closed form",
    "exact": "exact: every path of the rule was followed",
    "simulated": "simulated",
}


def text(found: Any, prediction: Any, note: str = "") -> str:
    row = found.rows()[0]
    how = METHODS[prediction.method]
    if prediction.interval is not None:
        low, high = prediction.interval
        sure = f"{100 * prediction.confidence:g} %"
        how = f"simulated: {prediction.steps:,} steps, {sure} in {low:.4f} … {high:.4f}"
    takes = row["tokens_per_step"] / row["speedup"]
    lines = [
        f"tokens per step  {row['tokens_per_step']:8.4f}   {how}",
        f"speedup          {row['speedup']:8.4f}   a step takes {takes:.4g} target passes (c = {row['c']:g})",
        f"operations       {row['operations_factor']:8.4f}   times those of plain decoding",
    ]
    if row["speedup"] < 1:
        lines.append("Slower than plain decoding.")
    if row["c"] == 0:
        lines.append("Drafting is taken to be free: --cost says what it costs.")
    if note:
        lines.append(note)
    lines += ["", *_lengths(prediction.lengths.tolist())]
    return "\n".join(lines)


def _lengths(law: list[float]) -> list[str]:
    """The law of the accepted lengths, a line each with a bar; of many, most of the middle in one line."""
    rows = [(str(length), chance) for length, chance in enumerate(law)]
    if len(rows) > LENGTHS:
        middle = rows[LENGTHS - 2 : -1]
        between = (f"{middle[0][0]}–{middle[-1][0]}", sum(chance for _, chance in middle))
        rows = [*rows[: LENGTHS - 2], between, rows[-1]]
    widest = max(chance for _, chance in rows)
    lines = ["accepted drafts"]
    for length, chance in rows:
        bar = "█" * round(40 * chance / widest)
        lines.append(f"  {length:>6}  {100 * chance:6.2f} %  {bar}".rstrip())
    return lines


def table(found: Any, note: str = "") -> str:
    """The points of a sweep; if there are many, the best of every line of its plot."""
    names = {"alpha": "α", "draft_length": "γ", "c": "c"}
    rows = found.rows()
    swept = found.swept
    title = ""
    if len(rows) > SHOWN and len(swept) > 1:
        best: dict[Any, Any] = {}
        for row in rows:
            key = tuple(row[name] for name in swept[1:])
            if key not in best or row["speedup"] > best[key]["speedup"]:
                best[key] = row
        rows = list(best.values())
        title = f"The best {names[swept[0]]} for every {' and '.join(names[name] for name in swept[1:])}."
    columns = [name for name in names if name in swept] or ["draft_length"]
    lines = ["  ".join(f"{names[name]:>8}" for name in columns) + "   tokens/step    speedup  operations"]
    top = max(rows, key=lambda row: float(row["speedup"]))
    for row in rows[:SHOWN] if top in rows[:SHOWN] else [*rows[: SHOWN - 1], top]:
        cells = "  ".join(f"{row[name]:>8.6g}" for name in columns)
        gains = (row["tokens_per_step"], row["speedup"], row["operations_factor"])
        mark = "  ← best" if row["speedup"] == top["speedup"] else ""
        shown = "  ".join(f"{gain:>{width}.4f}" for gain, width in zip(gains, (12, 9, 10), strict=True))
        lines.append(f"{cells}  {shown}{mark}")
    if "simulated" in found.method:
        half = max((row["highest"] - row["lowest"]) / 2 for row in rows if row["highest"] is not None)
        lines.append(f"Simulated: tokens per step are within ±{half:.2g}.")
    if len(rows) > SHOWN:
        lines.append(f"… and {len(rows) - SHOWN:,} more: --csv FILE has all.")
    return "\n".join([*([title, ""] if title else []), *lines, *([note] if note else [])])
