"""Policies with random weights, for tests of what is done with policies."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuckoo_env.agents.policy import Card, Covers, Policy
from cuckoo_env.observation import Layout
from cuckoo_env.rules import PRESETS, Rules

EVERYTHING = Covers(presets=tuple(PRESETS), fewest=2, most=10)
GENERAL = Layout(max_seats=10, with_rules=True)


def random_policy(
    rules: str | Rules = "practice-table", *, seed: int = 0, scale: float = 2.0, **card: Any
) -> Policy:
    """A policy that plays arbitrarily, but always the same."""
    parsed = Rules.parse(rules)
    settings = {
        "rules": parsed,
        "layout": Layout.of(parsed),
        "hidden": (16, 8),
        "activation": "relu",
        "training": {"seed": seed, "learning_curve": []},
    }
    made = Card(**{**settings, **card})
    generator = np.random.default_rng(seed)
    weights = {
        name: generator.normal(0, scale * shape[-1] ** -0.5, shape).astype(np.float32)
        for name, shape in made.shapes().items()
    }
    return Policy(card=made, weights=weights)


def generalist(covers: Covers = EVERYTHING, **card: Any) -> Policy:
    """A random policy that plays everything it is said to cover."""
    return random_policy(next(covers.tables()), layout=GENERAL, covers=covers, **card)
