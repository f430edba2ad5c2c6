"""The parts of ``translate``, which turns a rule's Python text into a Coq definition."""
