"""Machine-checked theorems: the theories beside this file, written for Coq with MathComp.

``theorems`` is the map claim → theorem → file → test; ``coq`` runs Coq on the theories; ``audit`` checks
them and keeps the record of it that is shipped; ``show`` is what the command line says of them.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
"""Where the theories are."""
