"""The independent checker of certificates: it imports nothing of the prover, only the standard library.

A certificate is a JSON-able dictionary that a proof carries (``Proof.certificate``); its ``kind`` says
which reading made it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

KINDS = {"all-distributions": "all_distributions", "any-vocabulary": "any_vocabulary"}


def check(certificate: dict[str, Any], function: Callable[..., Any]) -> list[str]:
    """Rechecks a certificate against the function that it is about.

    Args:
        certificate: what a symbolic reading left in ``Proof.certificate``.
        function: the rule's own function, which the certificate names with its hash.

    Returns:
        The problems found, one line each; empty if the certificate is accepted.
    """
    kind = certificate.get("kind")
    if kind not in KINDS:
        return [f"kind: {kind!r} is not one of {', '.join(KINDS)}"]
    problems: list[str] = import_module(f"{__name__}.{KINDS[kind]}").check(certificate, function)
    return problems
