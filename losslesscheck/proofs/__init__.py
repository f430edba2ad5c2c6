"""Machine-checked theorems: the theories beside this file, written for Coq with MathComp.

``theorems`` is the map claim → theorem → file → test; ``coq`` runs Coq on the theories; ``check`` checks
them, and ``audit`` keeps the records of that; ``translate`` turns a rule's text into a definition, ``theory``
into a theory to begin with; ``show`` is what the command line says of them.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
"""Where the theories are."""
