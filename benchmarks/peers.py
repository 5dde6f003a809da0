"""The environments of others that can be installed here, each in the loop that its own pages show.

All get the cheap choice of :mod:`picker`. What cannot be imported or started is listed with the reason.
"""

from __future__ import annotations

import functools
import itertools
import os
import warnings
from contextlib import ExitStack
from typing import Any, Final

from measure import Contender, Loop, Repeat, Settings
from ours import aec_work
from picker import ROWS, draws, rows

_PGX_SIZES: Final = (4096, 16384, 65536)
_PGX_GAMES: Final = ("leduc_holdem", "kuhn_poker")
_OPEN_SPIEL_GAMES: Final = ("kuhn_poker", "leduc_poker")


def contenders(settings: Settings) -> list[Contender]:
    """All peers, in the groups of those of ours that they stand beside."""
    pgx_sizes = _PGX_SIZES[-1:] if settings.quick else _PGX_SIZES
    many = [
        Contender(
            key=f"pgx/{name}/{games}",
            group="batch",
            family=f"Pgx {name} (JAX on the CPU, all cores)",
            setting=f"{games:,} games",
            prepare=functools.partial(_pgx, settings, name, games),
            is_peer=True,
        )
        for name in _PGX_GAMES
        for games in pgx_sizes
    ]
    made = {
        "pettingzoo/rps_v2": ("PettingZoo rps_v2, wrapped", _rps),
        "pettingzoo/leduc_holdem_v4": ("PettingZoo leduc_holdem_v4, wrapped", _leduc),
        "rlcard/leduc-holdem": ("RLCard leduc-holdem", _rlcard),
    }
    single = [
        Contender(
            key=key,
            group="single",
            family=name,
            prepare=functools.partial(prepare, settings),
            is_peer=True,
        )
        for key, (name, prepare) in made.items()
    ]
    spiel = [
        Contender(
            key=f"openspiel/{name}",
            group="single",
            family=f"OpenSpiel {name}, 3 players, with the information-state tensor",
            prepare=functools.partial(_open_spiel, settings, name),
            is_peer=True,
        )
        for name in _OPEN_SPIEL_GAMES
    ]
    return [*many, *single, *spiel]


def _pgx(settings: Settings, name: str, games: int, _: ExitStack) -> Repeat:
    """Vectorised, compiled, with Pgx's own automatic reset; the choice is compiled along with the step."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax  # noqa: PLC0415 - a peer need not be there
    import jax.numpy as jnp  # noqa: PLC0415
    import pgx  # noqa: PLC0415
    from pgx.experimental import auto_reset  # noqa: PLC0415

    env = pgx.make(name)
    step = jax.vmap(auto_reset(env.step, env.init))

    def advance(state: Any, drawn: Any, key: Any) -> Any:
        mask = state.legal_action_mask
        k = drawn % mask.sum(axis=1).astype(jnp.uint32)
        actions = (jnp.cumsum(mask, axis=1) > k[:, None]).argmax(axis=1)
        return step(state, actions, jax.random.split(key, games))

    compiled = jax.jit(advance, donate_argnums=0)
    drawn = [jnp.asarray(row) for row in rows(settings.seed, games)]
    first, *keys = jax.random.split(jax.random.PRNGKey(settings.seed), ROWS + 1)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(first, games))
    turns = itertools.cycle(zip(drawn, keys, strict=True))

    def work(steps: int) -> int:
        nonlocal state
        for _ in range(steps):
            state = compiled(state, *next(turns))
        jax.block_until_ready(state)
        return steps * games

    return Loop(work)


def _rps(settings: Settings, _: ExitStack) -> Repeat:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from pettingzoo.classic import rps_v2  # noqa: PLC0415
    return Loop(aec_work(rps_v2.env(), settings.seed, n_actions=3))


def _leduc(settings: Settings, _: ExitStack) -> Repeat:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from pettingzoo.classic import leduc_holdem_v4  # noqa: PLC0415
    return Loop(aec_work(leduc_holdem_v4.env(), settings.seed, n_actions=None))


def _rlcard(settings: Settings, _: ExitStack) -> Repeat:
    import rlcard  # noqa: PLC0415

    env = rlcard.make("leduc-holdem", config={"seed": settings.seed})
    draw = draws(settings.seed)

    def work(decisions: int) -> int:
        done = 0
        while done < decisions:
            state, _ = env.reset()
            while not env.is_over():
                legal = list(state["legal_actions"])
                state, _ = env.step(legal[draw() % len(legal)])
                done += 1
        return done

    return Loop(work)


def _open_spiel(settings: Settings, name: str, _: ExitStack) -> Repeat:
    import pyspiel  # noqa: PLC0415

    game = pyspiel.load_game(name, {"players": 3})
    draw = draws(settings.seed)

    def work(decisions: int) -> int:
        done = 0
        while done < decisions:
            state = game.new_initial_state()
            while not state.is_terminal():
                if not state.is_chance_node():
                    state.information_state_tensor()
                    done += 1
                # In both games all deals are equally likely, so chance takes the same choice.
                legal = state.legal_actions()
                state.apply_action(legal[draw() % len(legal)])
        return done

    return Loop(work)
