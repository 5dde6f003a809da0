"""Cuckoo (Chase the Ace): a hidden-information card game as a PettingZoo environment.

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cuckoo_env.registration import register_with_gymnasium

if TYPE_CHECKING:
    from cuckoo_env import cuckoo_v0
    from cuckoo_env.batch import Batch
    from cuckoo_env.game import Game
    from cuckoo_env.rules import Rules, RulesError

    __version__: str

__all__ = ["Batch", "Game", "Rules", "RulesError", "__version__", "cuckoo_v0"]

_HOMES = {"Batch": "batch", "Game": "game", "Rules": "rules", "RulesError": "rules"}


register_with_gymnasium()


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"cuckoo_env.{_HOMES[name]}"), name)
    if name == "cuckoo_v0":
        return importlib.import_module("cuckoo_env.cuckoo_v0")
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("cuckoo-env")
    raise AttributeError(f"module 'cuckoo_env' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
