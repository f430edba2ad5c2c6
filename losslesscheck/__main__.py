"""``python -m losslesscheck``."""

from losslesscheck.cli import main

main()
