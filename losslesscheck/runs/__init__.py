"""Long runs: Monte Carlo in shards, by many workers, over as many sittings as it takes.

A shard is so many steps with random numbers of its own. ``source`` says what may be sampled this way,
``rule_source`` is a rule's text as such a source; ``record`` is a shard's row, ``file`` what rows are
appended to, ``executor`` where shards are computed, ``shards`` what is computed there, ``totals`` what rows
add up to and when one may look at that, ``run`` the run itself, ``status`` how far it is and what it came
to, ``live`` what a terminal shows of it.
"""

from losslesscheck.runs.rule_source import RuleSource, rule_source
from losslesscheck.runs.run import Options, collect
from losslesscheck.runs.source import Source
from losslesscheck.runs.status import Sampled, Status

__all__ = ["Options", "RuleSource", "Sampled", "Source", "Status", "collect", "rule_source"]
