"""How good a way of playing is: sampled games, errors, reports."""

from cuckoo_env.evaluate.arena import EVERY_DEALER, Comparison, Result, compare, play

__all__ = ["EVERY_DEALER", "Comparison", "Result", "compare", "play"]
