"""Strategies on the exact trees as agents, and the agent ``best-response:AGENT,...``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cuckoo_env.agents import AgentError, parse
from cuckoo_env.agents.base import Agent
from cuckoo_env.agents.table import TableAgent, make_table, observation_keys
from cuckoo_env.evaluate.exact import Strategy, best_response, strategy_of
from cuckoo_env.evaluate.match import Match, TooLargeError
from cuckoo_env.rules import Rules


def table_of(
    match: Match, strategy: Strategy, name: str, about: Mapping[str, Any], seat: int | None = None
) -> TableAgent:
    """A strategy as an agent: a table of all that a seat can see.

    Args:
        match: the match.
        strategy: weights of the edges for every position.
        name: what the agent is called.
        about: how it was made, for people.
        seat: the seat it is for; None where all seats play the same strategy.
    """
    keys, chances = [], []
    for number, weights in enumerate(strategy):
        tree, order = match.tree[number], match.order[number]
        observations, masks = match.observations(number)
        mixed = np.zeros(masks.shape)
        mixed[tree.edge_state, tree.edge_action] = weights[: tree.n_edges]
        own = np.array([seat is None or each == seat for each in order])[tree.state_place]
        keys.append(observation_keys(match.rules, observations[own], match.layout))
        chances.append(mixed[own])
    return make_table(name, match.rules, np.concatenate(keys), np.concatenate(chances), about)


def make_best_response(spec: str, argument: str, rules: Rules, seat: int | None) -> Agent:
    """The agent that wins as much as can be won against the named ones in the other seats.

    Raises:
        AgentError: for agents that are refused or do not fill the other seats, without a seat, or at a table
            that is too large to be solved.
    """
    if seat is None:
        raise AgentError(f"agent: {spec} is made for one seat; accepted: where the seat is known")
    named = argument.split(",")
    if len(named) != rules.seats - 1:
        raise AgentError(
            f"agent: {spec} is refused; accepted: {rules.seats - 1} agents, for the other seats of {rules}"
        )
    others = [each for each in range(rules.seats) if each != seat]
    agents = [parse("naive", rules)] * rules.seats
    for other, one in zip(others, named, strict=True):
        agents[other] = parse(one, rules, other)
    try:
        match = Match(rules)
    except TooLargeError as error:
        raise AgentError(f"agent: {spec} is refused: {error}") from error
    best = best_response(match, strategy_of(match, agents), seat)
    return table_of(match, best.strategy, spec, {"against": named, "seat": seat}, seat)
