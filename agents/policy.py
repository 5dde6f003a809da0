"""Trained policies as agents: weights in safetensors, and a JSON card that says what they are.

Neither file can run code. Everything in them is checked before it is used: the layout version, the
rules, the shapes, the types and the values; a file that fails is refused with one line.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import safetensors.numpy
from safetensors import SafetensorError

from cuckoo_env.agents.base import MAY_DIFFER, AgentError
from cuckoo_env.agents.translate import translate
from cuckoo_env.engine import N_ACTIONS
from cuckoo_env.files import printable, read_at_most, write_bytes, write_text
from cuckoo_env.observation import LAYOUT_VERSION, Layout
from cuckoo_env.rules import PRESETS, Rules, RulesError

FORMAT: Final = "cuckoo-policy/2"
CARD_NAME: Final = "policy.json"
WEIGHTS_NAME: Final = "policy.safetensors"
SHIPPED: Final = Path(__file__).resolve().parent / "policies"
"""The policies that come with the package, a folder each."""

ACTIVATIONS: Final = ("relu", "tanh")
MOST_LAYERS: Final = 8
MOST_UNITS: Final = 4096
_MOST_SEATS: Final = 10_000
_ROWS: Final = 1024
"""Observations that go through the network together: their numbers stay in a core's cache."""
_LARGEST_CARD: Final = 4_000_000
"""Bytes; a card with a long learning curve has some ten thousand."""
_LARGEST_HEADER: Final = 100_000
"""Bytes beside the numbers in a weights file; ours have a few hundred."""


class PolicyError(AgentError):
    """A policy that is refused; the message names its file and what is wrong with it."""


HIDDEN_ACCEPTED: Final = f"up to {MOST_LAYERS} sizes from 1 to {MOST_UNITS}"


def is_hidden(sizes: Sequence[Any]) -> bool:
    """Whether these can be the sizes of a network's hidden layers."""
    return len(sizes) <= MOST_LAYERS and all(
        type(size) is int and 1 <= size <= MOST_UNITS for size in sizes
    )


@dataclass(frozen=True, kw_only=True)
class Covers:
    """The rule sets that a generalist plays: some presets, at some sizes of the table.

    Attributes:
        presets: names of presets.
        fewest: seats of the smallest table.
        most: seats of the largest.

    Example:
        >>> covers = Covers(presets=("standard", "cuckoo"), fewest=2, most=10)
        >>> str(covers)
        'standard, cuckoo with 2 to 10 seats'
        >>> covers.includes(Rules.parse("cuckoo,seats=8")), covers.includes(Rules.parse("onesies"))
        (True, False)
    """

    presets: tuple[str, ...]
    fewest: int
    most: int

    def __post_init__(self) -> None:
        """Refuse what names no table."""
        unknown = [name for name in self.presets if name not in PRESETS]
        if unknown or not self.presets or len(set(self.presets)) < len(self.presets):
            value = _short(unknown[0]) if unknown else _short(list(self.presets))
            raise ValueError(
                f"covers: {value} is refused; accepted: each once of {', '.join(PRESETS)}"
            )
        if not 2 <= self.fewest <= self.most <= _MOST_SEATS:
            raise ValueError(
                f"covers: {_short(self.fewest)} to {_short(self.most)} seats are refused; "
                f"accepted: 2 to {_MOST_SEATS}, the smaller number first"
            )

    def includes(self, rules: Rules) -> bool:
        """Whether these rules are covered; what a policy need not know may differ."""
        wanted = _same_for_a_policy(rules)
        return self.fewest <= rules.seats <= self.most and any(
            _same_for_a_policy(preset.rules(seats=rules.seats)) == wanted
            for preset in map(PRESETS.__getitem__, self.presets)
            if preset.admits(rules.seats)
        )

    def tables(self) -> Iterator[Rules]:
        """Every rule set that is covered, preset by preset, the smaller tables first."""
        for name in self.presets:
            for seats in range(self.fewest, self.most + 1):
                if PRESETS[name].admits(seats):
                    yield PRESETS[name].rules(seats=seats)

    def __str__(self) -> str:
        every = set(self.presets) == set(PRESETS)
        names = "every preset" if every else ", ".join(self.presets)
        return f"{names} with {self.fewest} to {self.most} seats"


def _same_for_a_policy(rules: Rules) -> Rules:
    return rules.replace(**MAY_DIFFER, decks=rules.decks)


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a policy is, beside its weights.

    Attributes:
        rules: the rules it was trained for; of a generalist, one of those it covers.
        layout: the layout of the observations that it reads.
        hidden: units of each hidden layer.
        activation: ``relu`` or ``tanh``, after each hidden layer.
        covers: the rule sets that a generalist plays; None for a policy that plays one.
        training: how it was made, for people; playing does not look at it.
    """

    rules: Rules
    layout: Layout
    hidden: tuple[int, ...]
    activation: str
    covers: Covers | None = None
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a layout that has no room for what is covered."""
        if self.covers is None:
            return
        if self.layout.max_seats < self.covers.most:
            raise ValueError(
                f"max_seats: {self.layout.max_seats} is refused; accepted: {self.covers.most} or more, "
                "for the seats it covers"
            )
        responses = any(PRESETS[name].rules().has_responses for name in self.covers.presets)
        if responses and self.layout.n_actions < N_ACTIONS:
            raise ValueError(
                f"n_actions: {self.layout.n_actions} is refused; accepted: {N_ACTIONS}, "
                "for the rules it covers"
            )
        if not self.covers.includes(self.rules):
            raise ValueError(f"rules: {self.rules} is refused; accepted: {self.covers}")

    def refusal(self, rules: Rules) -> str | None:
        """Why the policy does not play by these rules; None if it does."""
        if self.covers is not None:
            return None if self.covers.includes(rules) else f"covers {self.covers}, not {rules}"
        theirs, ours = self.rules.fields(), rules.fields()
        differences = [
            f"{name}={theirs[name]} there, {name}={ours[name]} here"
            for name in ours
            if name not in MAY_DIFFER and theirs[name] != ours[name]
        ]
        if not differences:
            return None
        return f"trained for {self.rules}, not {rules}: {'; '.join(differences)}"

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The network's tensors and their shapes: layer ``k`` has ``k.weight`` and ``k.bias``."""
        sizes = (self.layout.size, *self.hidden, self.layout.n_actions)
        shapes: dict[str, tuple[int, ...]] = {}
        for k, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
            shapes[f"{k}.weight"] = (outputs, inputs)
            shapes[f"{k}.bias"] = (outputs,)
        return shapes

    def as_json(self) -> dict[str, Any]:
        """The card as the plain values of its file."""
        covers = self.covers and {
            "presets": list(self.covers.presets),
            "seats": [self.covers.fewest, self.covers.most],
        }
        return {
            "format": FORMAT,
            "layout_version": LAYOUT_VERSION,
            "rules": str(self.rules),
            "covers": covers,
            "max_seats": self.layout.max_seats,
            "n_actions": self.layout.n_actions,
            "with_rules": self.layout.with_rules,
            "hidden": list(self.hidden),
            "activation": self.activation,
            "training": dict(self.training),
        }

    @classmethod
    def from_json(cls, values: Any) -> Card:
        """The card that plain values describe.

        Raises:
            ValueError: if they do not describe one that this version can play.
        """
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise ValueError(f"it is not a card of format {FORMAT}")
        version = values.get("layout_version")
        if version != LAYOUT_VERSION:
            raise ValueError(
                f"it reads observation layout {_short(version)}; this version has {LAYOUT_VERSION}"
            )
        rules = Rules.parse(_typed(values, "rules", str))
        return cls(
            rules=rules,
            layout=Layout.of(
                rules,
                max_seats=_number(values, "max_seats", 2, _MOST_SEATS),
                with_rules=_typed(values, "with_rules", bool),
                n_actions=_number(values, "n_actions", 2, N_ACTIONS),
            ),
            hidden=_hidden(values),
            activation=_activation(values),
            covers=_covers(values),
            training=_typed(values, "training", dict),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Policy:
    """A card and the weights that belong to it.

    Attributes:
        card: what the policy is.
        weights: the tensors of :meth:`Card.shapes`, float32.

    Raises:
        ValueError: for weights that are not the card's, or that are not finite.
    """

    card: Card
    weights: Mapping[str, npt.NDArray[np.float32]]

    def __post_init__(self) -> None:
        """Check the weights."""
        _check_weights(self.weights, self.card.shapes())

    def save(self, folder: Path) -> None:
        """Write the two files of the policy into a folder that is there."""
        write_bytes(folder / WEIGHTS_NAME, safetensors.numpy.save(dict(self.weights)))
        write_text(folder / CARD_NAME, json.dumps(self.card.as_json(), indent=2) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy from its run folder, or from one of its two files.

        Raises:
            PolicyError: if a file is missing, damaged, or not what it should be.
        """
        card_path, weights_path = _files_of(Path(path))
        card = _read_card(card_path)
        weights = _read_weights(weights_path, card)
        try:
            return cls(card=card, weights=weights)
        except ValueError as error:
            raise _refusal(weights_path, str(error)) from error

    def logits(self, observations: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """The network's outputs: (n, n_actions) for (n, layout.size) float32."""
        outputs = np.empty((len(observations), self.card.layout.n_actions), np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(observations), _ROWS):
                rows = slice(start, start + _ROWS)
                outputs[rows] = self._forward(observations[rows])
        return outputs

    def _forward(self, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        last = len(self.card.hidden)
        for k in range(last + 1):
            values = values @ self.weights[f"{k}.weight"].T
            values += self.weights[f"{k}.bias"]
            if k == last:
                break
            if self.card.activation == "relu":
                np.maximum(values, 0, out=values)
            else:
                np.tanh(values, out=values)
        return values


class PolicyAgent:
    """A trained policy at the table.

    Attributes:
        name: the spec it was made from.
        policy: the policy.
        rules: the rules of the table; None where only observations that carry them are read.
    """

    def __init__(self, path: str | Path, rules: Rules, *, name: str | None = None) -> None:
        """Load a policy to play by these rules.

        Args:
            path: its run folder, or one of its two files.
            rules: the rules of the table.
            name: what it is called; by default ``policy:`` and the path.

        Raises:
            PolicyError: if a file is damaged, or the policy does not cover these rules.
        """
        self.name = name or f"policy:{path}"
        self.policy = Policy.load(path)
        self.rules: Rules | None = rules
        _check_covered(self)

    @classmethod
    def of(cls, policy: Policy, name: str, rules: Rules | None = None) -> PolicyAgent:
        """The agent that plays a policy which is already in memory.

        Args:
            policy: the policy.
            name: what it is called.
            rules: the rules of the table. None: those of the policy's card; a generalist then reads only
                observations of its own layout, which tell it the rules.

        Raises:
            PolicyError: if the policy does not cover these rules.
        """
        agent = cls.__new__(cls)
        agent.name, agent.policy = name, policy
        agent.rules = policy.card.rules if rules is None and policy.card.covers is None else rules
        _check_covered(agent)
        return agent

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> npt.NDArray[np.float64]:
        """The softmax of the legal actions' logits: see :class:`~cuckoo_env.agents.Agent`.

        Observations of another layout than the policy's are translated first; actions that only one of the
        two knows are never legal.

        Raises:
            PolicyError: if the observations cannot be translated, or the network's outputs are not finite.
        """
        logits = self.policy.logits(self._as_trained(observations, layout))
        if not np.isfinite(logits).all():
            raise PolicyError(f"{self.name}: its network gives numbers that are not finite")
        known = min(logits.shape[1], masks.shape[1])
        chances = np.full(masks.shape, -np.inf)
        chances[:, :known] = logits[:, :known]
        chances[masks == 0] = -np.inf
        chances -= chances.max(axis=1, keepdims=True)
        np.exp(chances, out=chances)
        chances /= chances.sum(axis=1, keepdims=True)
        return chances

    def _as_trained(
        self, observations: npt.NDArray[np.float32], layout: Layout
    ) -> npt.NDArray[np.float32]:
        """The observations in the layout that the policy was trained with."""
        own = self.policy.card.layout
        if (layout.max_seats, layout.with_rules) == (own.max_seats, own.with_rules):
            return observations
        if self.rules is None:
            raise PolicyError(
                f"{self.name}: reads {own}, not {layout}, unless told the table's rules"
            )
        try:
            return translate(observations, layout, own, self.rules)
        except ValueError as error:
            raise PolicyError(f"{self.name}: cannot read {layout}: {error}") from error

    def player(self) -> None:
        """None: a network is no data for compiled loops."""


def _check_covered(agent: PolicyAgent) -> None:
    refusal = None if agent.rules is None else agent.policy.card.refusal(agent.rules)
    if refusal is not None:
        raise PolicyError(f"agent: {agent.name} is refused: {refusal}")


def shipped(folder: Path) -> tuple[str, ...]:
    """The names of the policies in a folder of them: those of the folders that hold a card."""
    return tuple(sorted(card.parent.name for card in folder.glob(f"*/{CARD_NAME}")))


# -- Reading files that may be anything -----------------------------------------------------------


def _files_of(path: Path) -> tuple[Path, Path]:
    """The card and the weights that belong to a path."""
    if path.is_dir():
        return path / CARD_NAME, path / WEIGHTS_NAME
    if path.suffix in {".json", ".safetensors"}:
        return path.with_suffix(".json"), path.with_suffix(".safetensors")
    raise PolicyError(
        f"policy {path}: no such folder or file; accepted: a run folder, .json or .safetensors"
    )


def _read_card(path: Path) -> Card:
    try:
        return Card.from_json(json.loads(_read(path, _LARGEST_CARD).decode()))
    except PolicyError:
        raise
    except RecursionError as error:
        raise _refusal(path, f"it is not a card of format {FORMAT}") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise _refusal(path, "it is damaged, or no JSON") from error
    except RulesError as error:
        raise _refusal(path, f"its rules cannot be played: {error}") from error
    except ValueError as error:
        raise _refusal(path, str(error)) from error


def _read_weights(path: Path, card: Card) -> dict[str, npt.NDArray[Any]]:
    numbers = sum(int(np.prod(shape)) for shape in card.shapes().values())
    data = _read(path, 4 * numbers + _LARGEST_HEADER)
    try:
        tensors = safetensors.numpy.load(data)
    except KeyError as error:
        raise _refusal(path, f"a tensor is {error}; accepted: float32") from error
    except (SafetensorError, ValueError, TypeError, OverflowError) as error:
        raise _refusal(path, "it is damaged, or no safetensors file") from error
    # A foreign header may leave the numbers anywhere in memory; ours are aligned.
    return {name: np.require(tensor, requirements="A") for name, tensor in tensors.items()}


def _check_weights(
    weights: Mapping[str, npt.NDArray[Any]], shapes: Mapping[str, tuple[int, ...]]
) -> None:
    for name in sorted({*weights, *shapes}):
        found, wanted = getattr(weights.get(name), "shape", None), shapes.get(name)
        if found != wanted:
            raise ValueError(
                f"its tensors are not the card's: {_short(name)} is {_short(found)}; accepted: {wanted}"
            )
    for name, tensor in weights.items():
        if tensor.dtype != np.float32:
            raise ValueError(f"{name} is {tensor.dtype}; accepted: float32")
        if not np.isfinite(tensor).all():
            raise ValueError(f"{name} has numbers that are not finite")


def _read(path: Path, most: int) -> bytes:
    """The bytes of a file, unless there are more than it should have."""
    try:
        return read_at_most(path, most)
    except OSError as error:
        raise _refusal(path, f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise _refusal(path, str(error)) from error


def _refusal(path: Path, what: str) -> PolicyError:
    return PolicyError(f"policy {path}: {printable(what)}")


def _typed(values: Mapping[str, Any], name: str, kind: type) -> Any:
    value = values.get(name)
    if type(value) is not kind:
        raise ValueError(f"{name}: {_short(value)} is refused; accepted: a {kind.__name__}")
    return value


def _number(values: Mapping[str, Any], name: str, least: int, most: int) -> int:
    value = _typed(values, name, int)
    if not least <= value <= most:
        raise ValueError(f"{name}: {_short(value)} is refused; accepted: {least} to {most}")
    return int(value)


def _hidden(values: Mapping[str, Any]) -> tuple[int, ...]:
    sizes = _typed(values, "hidden", list)
    if not is_hidden(sizes):
        raise ValueError(f"hidden: {_short(sizes)} is refused; accepted: {HIDDEN_ACCEPTED}")
    return tuple(sizes)


def _activation(values: Mapping[str, Any]) -> str:
    name = _typed(values, "activation", str)
    if name not in ACTIVATIONS:
        raise ValueError(
            f"activation: {_short(name)} is refused; accepted: {' or '.join(ACTIVATIONS)}"
        )
    return str(name)


def _covers(values: Mapping[str, Any]) -> Covers | None:
    if "covers" in values and values["covers"] is None:
        return None
    inside = _typed(values, "covers", dict)
    presets, seats = _typed(inside, "presets", list), _typed(inside, "seats", list)
    if not all(type(name) is str for name in presets) or [type(n) for n in seats] != [int, int]:
        raise ValueError(
            f"covers: {_short(inside)} is refused; "
            "accepted: null, or names of presets and two numbers of seats"
        )
    return Covers(presets=tuple(presets), fewest=seats[0], most=seats[1])


def _short(value: Any) -> str:
    """A value as text that fits into one line, whatever it is."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 64:
        return "a huge number"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
