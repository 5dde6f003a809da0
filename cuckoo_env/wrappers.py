"""Wrappers around the PettingZoo environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import BaseWrapper

from cuckoo_env.aec import Observation, RawEnv
from cuckoo_env.shaping import lives_potential


class PerRoundRewards(BaseWrapper[str, Observation, int]):
    """Rewards after every round instead of all at the end; a game's rewards still sum up to the return.

    After each reveal that does not end the game, an agent's reward is the stake times the change of
    :func:`~cuckoo_env.shaping.lives_potential` since the last one: what its share of all lives has gained or
    lost, in the unit of the return. A life paid to refuse a swap counts at the reveal of its round. At the
    end of the game the reward is the whole return less what has been given before. The rewards of a step
    sum to zero, unless an illegal action ends the game.

    Example:
        >>> from cuckoo_env import cuckoo_v0
        >>> env = PerRoundRewards(cuckoo_v0.env("practice-table"))
        >>> env.reset(seed=4)
        >>> for _ in range(3):
        ...     env.step(0)
        >>> env.rewards
        {'player_0': -0.25, 'player_1': 0.125, 'player_2': 0.125}
    """

    def __init__(self, env: AECEnv[str, Observation, int]) -> None:
        """Wrap an environment.

        Args:
            env: ``cuckoo_v0.env()`` or ``raw_env()``, wrapped in anything or in nothing.

        Raises:
            ValueError: for another environment.
        """
        super().__init__(env)
        if not isinstance(env.unwrapped, RawEnv):
            raise ValueError(f"env: {env} is refused; accepted: cuckoo_v0 environments")
        self._cuckoo: RawEnv = env.unwrapped

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game, as the environment does."""
        super().reset(seed, options)
        self._given = dict.fromkeys(self.env.agents, 0.0)
        self.rewards = dict.fromkeys(self.env.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.env.agents, 0.0)
        self._rounds = self._cuckoo.rounds

    def step(self, action: int | None) -> None:
        """The selected agent takes an action, as in the environment."""
        if not self.env.agents:
            super().step(action)  # type: ignore[arg-type]
            return
        agent = self.env.agent_selection
        was_over = self._is_over()
        super().step(action)  # type: ignore[arg-type]
        if was_over:
            # It is gone now, and nobody gets anything any more.
            del self.rewards[agent], self._cumulative_rewards[agent]
            self._clear_rewards()
            return
        self._cumulative_rewards[agent] = 0.0
        due = self._due()
        self.rewards = {each: due[each] - self._given[each] for each in due}
        self._given = due
        self._accumulate_rewards()

    def _is_over(self) -> bool:
        return any(self.env.terminations.values()) or any(self.env.truncations.values())

    def _due(self) -> dict[str, float]:
        """What each agent's rewards must sum up to by now."""
        if self._is_over():
            return dict(self.env.rewards)
        if self._rounds == self._cuckoo.rounds:
            return self._given
        self._rounds = self._cuckoo.rounds
        shares = self._cuckoo.rules.stake * lives_potential(np.array(self._cuckoo.lives))
        return dict(zip(self.env.possible_agents, shares.tolist(), strict=True))
