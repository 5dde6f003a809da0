"""How Gymnasium finds Cuckoo: ``import cuckoo_env``, then ``gymnasium.make("cuckoo_env/Cuckoo-v0")``.

Gymnasium has no plug-ins: an environment is known once its package has told the registry. Importing this
package must not load Gymnasium for those who only play or ask for help, so the registry is told as soon as it
is there: at once, or right after Gymnasium's own import.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from cuckoo_env.learner import Opponent
    from cuckoo_env.rules import Rules
    from cuckoo_env.solo import CuckooEnv
    from cuckoo_env.vector import CuckooVectorEnv

ENV_ID: Final = "cuckoo_env/Cuckoo-v0"
_REGISTRY: Final = "gymnasium.envs.registration"


def register_with_gymnasium() -> None:
    """Tell Gymnasium's registry of the environment: now if it is loaded, or else once it is."""
    if _REGISTRY in sys.modules:
        _register(sys.modules[_REGISTRY])
    else:
        sys.meta_path.insert(0, _Watch())


def _register(registry: ModuleType) -> None:
    if ENV_ID not in registry.registry:
        registry.register(
            id=ENV_ID,
            entry_point=f"{__name__}:make_solo",
            vector_entry_point=f"{__name__}:make_vector",
        )


class _Watch(MetaPathFinder):
    """Waits for Gymnasium's registry to be imported, and leaves all imports as they are."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname != _REGISTRY:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = functools.partial(_execute, spec.loader.exec_module)
            spec.loader.exec_module = execute  # type: ignore[method-assign]
        return spec


def _execute(execute: Callable[[ModuleType], None], registry: ModuleType) -> None:
    execute(registry)
    _register(registry)


def make_solo(
    rules: Rules | str = "practice-table",
    opponents: str | Sequence[str | Opponent] = ("robin", "alex"),
    seat: int = 0,
    **options: Any,
) -> CuckooEnv:
    """One environment: see :mod:`cuckoo_env.solo`."""
    from cuckoo_env.solo import CuckooEnv  # noqa: PLC0415 - loads Gymnasium

    return CuckooEnv(rules, seated(opponents, rules), seat, **options)


def make_vector(
    num_envs: int = 1,
    rules: Rules | str = "practice-table",
    opponents: str | Sequence[str | Opponent] = ("robin", "alex"),
    seat: int | str = 0,
    **options: Any,
) -> CuckooVectorEnv:
    """A vector environment: see :mod:`cuckoo_env.vector`."""
    from cuckoo_env.vector import CuckooVectorEnv  # noqa: PLC0415 - loads Gymnasium

    return CuckooVectorEnv(num_envs, rules, seated(opponents, rules), seat, **options)


def seated(opponents: str | Sequence[str | Opponent], rules: Rules | str) -> list[Opponent]:
    """The agents for all seats but the learner's.

    Args:
        opponents: agents or specs of agents, in ascending order of seats, or one text of specs with
            commas between; fewer than seats are taken again from the first.
        rules: the rules of the table.

    Raises:
        ValueError: for a spec that is refused, or if there are more than seats.
    """
    # Here, at the edge, names become agents: the environments themselves know none.
    from cuckoo_env.agents import parse  # noqa: PLC0415
    from cuckoo_env.rules import Rules  # noqa: PLC0415

    rules = Rules.parse(rules)
    given = opponents.split(",") if isinstance(opponents, str) else list(opponents)
    others = rules.seats - 1
    if not 1 <= len(given) <= others:
        raise ValueError(
            f"opponents: {len(given)} are refused; "
            f"accepted: 1 to {others}, for all seats of {rules} but the learner's"
        )
    made = {spec: parse(spec, rules) for spec in given if isinstance(spec, str)}
    agents = [made[each] if isinstance(each, str) else each for each in given]
    return [agents[k % len(agents)] for k in range(others)]
