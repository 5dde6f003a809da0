"""Trained policies as agents: weights in safetensors, and a JSON card that says what they are.

Neither file can run code. Everything in them is checked before it is used: the layout version, the
rules, the shapes, the types and the values; a file that fails is refused with one line.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import safetensors.torch
import torch
from safetensors import SafetensorError

from cuckoo_env.agents.base import MAY_DIFFER, AgentError
from cuckoo_env.files import write_bytes, write_text
from cuckoo_env.observation import LAYOUT_VERSION, Layout
from cuckoo_env.rules import Rules, RulesError

FORMAT: Final = "cuckoo-policy/1"
CARD_NAME: Final = "policy.json"
WEIGHTS_NAME: Final = "policy.safetensors"

ACTIVATIONS: Final = ("relu", "tanh")
MOST_LAYERS: Final = 8
MOST_UNITS: Final = 4096
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
class Card:
    """What a policy is, beside its weights.

    Attributes:
        rules: the rules it was trained for.
        layout: the layout of the observations that it reads.
        hidden: units of each hidden layer.
        activation: ``relu`` or ``tanh``, after each hidden layer.
        training: how it was made, for people; playing does not look at it.
    """

    rules: Rules
    layout: Layout
    hidden: tuple[int, ...]
    activation: str
    training: Mapping[str, Any] = field(default_factory=dict)

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
        return {
            "format": FORMAT,
            "layout_version": LAYOUT_VERSION,
            "rules": str(self.rules),
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
                f"it reads observation layout {version!r}; this version has {LAYOUT_VERSION}"
            )
        rules = Rules.parse(_typed(values, "rules", str))
        return cls(
            rules=rules,
            layout=Layout.of(
                rules,
                max_seats=_number(values, "max_seats", 2, 10_000),
                with_rules=_typed(values, "with_rules", bool),
                n_actions=_number(values, "n_actions", 2, 5),
            ),
            hidden=_hidden(values),
            activation=_activation(values),
            training=_typed(values, "training", dict),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Policy:
    """A card and the weights that belong to it.

    Attributes:
        card: what the policy is.
        weights: the tensors of :meth:`Card.shapes`, float32.
    """

    card: Card
    weights: Mapping[str, torch.Tensor]

    def save(self, folder: Path) -> None:
        """Write the two files of the policy into a folder that is there."""
        write_bytes(folder / WEIGHTS_NAME, safetensors.torch.save(dict(self.weights)))
        write_text(folder / CARD_NAME, json.dumps(self.card.as_json(), indent=2) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy from its run folder, or from one of its two files.

        Raises:
            PolicyError: if a file is missing, damaged, or not what it should be.
        """
        card_path, weights_path = _files_of(Path(path))
        card = _read_card(card_path)
        return cls(card=card, weights=_read_weights(weights_path, card))

    def logits(self, observations: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """The network's outputs: (n, n_actions) for (n, layout.size) float32."""
        last = len(self.card.hidden)
        with torch.inference_mode():
            values = torch.from_numpy(observations)
            for k in range(last + 1):
                values = torch.nn.functional.linear(
                    values, self.weights[f"{k}.weight"], self.weights[f"{k}.bias"]
                )
                if k < last:
                    values = values.relu_() if self.card.activation == "relu" else values.tanh_()
            return values.numpy()


class PolicyAgent:
    """A trained policy at the table.

    Attributes:
        name: the spec it was made from.
        policy: the policy.
    """

    def __init__(self, path: str | Path, rules: Rules) -> None:
        """Load a policy to play by these rules.

        Args:
            path: its run folder, or one of its two files.
            rules: the rules of the table.

        Raises:
            PolicyError: if a file is damaged, or the policy was trained for other rules.
        """
        self.name = f"policy:{path}"
        self.policy = Policy.load(path)
        _check_rules(path, self.policy.card.rules, rules)

    @classmethod
    def of(cls, policy: Policy, name: str) -> PolicyAgent:
        """The agent that plays a policy which is already in memory."""
        agent = cls.__new__(cls)
        agent.name, agent.policy = name, policy
        return agent

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> npt.NDArray[np.float64]:
        """The softmax of the legal actions' logits: see :class:`~cuckoo_env.agents.Agent`.

        Raises:
            PolicyError: if the observations have another layout than the policy was trained with.
        """
        if layout != self.policy.card.layout:
            raise PolicyError(f"{self.name}: reads {self.policy.card.layout}, not {layout}")
        logits = self.policy.logits(np.require(observations, np.float32, ["C", "W"])).astype(
            np.float64
        )
        logits[masks == 0] = -np.inf
        logits -= logits.max(axis=1, keepdims=True)
        chances: npt.NDArray[np.float64] = np.exp(logits, out=logits)
        chances /= chances.sum(axis=1, keepdims=True)
        return chances

    def player(self) -> None:
        """None: a network is no data for compiled loops."""


def _check_rules(path: str | Path, trained: Rules, rules: Rules) -> None:
    theirs, ours = trained.fields(), rules.fields()
    differences = [
        f"{name}={theirs[name]} there, {name}={ours[name]} here"
        for name in ours
        if name not in MAY_DIFFER and theirs[name] != ours[name]
    ]
    if differences:
        raise PolicyError(
            f"policy {path}: trained for {trained}, not {rules}: {'; '.join(differences)}"
        )


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
        return Card.from_json(json.loads(_read(path, _LARGEST_CARD)))
    except PolicyError:
        raise
    except RecursionError as error:
        raise PolicyError(f"policy {path}: it is not a card of format {FORMAT}") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(f"policy {path}: it is damaged, or no JSON") from error
    except RulesError as error:
        raise PolicyError(f"policy {path}: its rules cannot be played: {error}") from error
    except ValueError as error:
        raise PolicyError(f"policy {path}: {error}") from error


def _read_weights(path: Path, card: Card) -> dict[str, torch.Tensor]:
    shapes = card.shapes()
    expected = 4 * sum(int(np.prod(shape)) for shape in shapes.values())
    try:
        tensors = safetensors.torch.load(_read(path, expected + _LARGEST_HEADER))
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        if isinstance(error, PolicyError):
            raise
        raise PolicyError(f"policy {path}: it is damaged, or no safetensors file") from error
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if found != shapes:
        raise PolicyError(f"policy {path}: its tensors are {found}; accepted: {shapes}")
    for name, tensor in tensors.items():
        if tensor.dtype != torch.float32:
            raise PolicyError(f"policy {path}: {name} is {tensor.dtype}; accepted: torch.float32")
        if not bool(torch.isfinite(tensor).all()):
            raise PolicyError(f"policy {path}: {name} has numbers that are not finite")
    return tensors


def _read(path: Path, most: int) -> bytes:
    """The bytes of a file, unless there are more than it should have."""
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise PolicyError(f"policy {path}: cannot be read: {error.strerror or error}") from error
    if len(data) > most:
        raise PolicyError(f"policy {path}: it is larger than {most:,} bytes, so it is no such file")
    return data


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


def _short(value: Any) -> str:
    """A value as text that fits into one line, whatever it is."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 64:
        return "a huge number"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
