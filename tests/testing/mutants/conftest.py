"""Nothing here is collected: modules that are imported once more would register every mutant twice."""

collect_ignore_glob = ["*.py"]
