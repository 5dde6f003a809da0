"""How good a way of playing is: sampled and exact values, errors, best responses, reports."""

from cuckoo_env.agents.specs import provide
from cuckoo_env.evaluate.arena import EVERY_DEALER, Comparison, Result, compare, play
from cuckoo_env.evaluate.respond import make_best_response

__all__ = ["EVERY_DEALER", "Comparison", "Result", "compare", "play"]

provide("best-response", make_best_response)
