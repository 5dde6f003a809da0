"""A learner's state, and how it is kept: numbers in safetensors, the rest as JSON in the file's header.

A checkpoint is one file, written beside the last one and renamed over it, so there is always a whole one.
Reading it runs no code. It is for going on with one's own run, on the machine it was made on: the games
in it are the engine's own memory, so it is refused if it is damaged or if the engine has changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import safetensors.numpy
import torch
from safetensors import SafetensorError, safe_open

from cuckoo_env.compiled import sources_digest
from cuckoo_env.files import write_bytes
from cuckoo_env.learner import Learners

FORMAT: Final = "cuckoo-checkpoint/1"
NAME: Final = "checkpoint.safetensors"
_ENGINE: Final = sources_digest()


class CheckpointError(ValueError):
    """A checkpoint that is refused; the message names its file and what is wrong with it."""


@dataclass(frozen=True, kw_only=True)
class State:
    """What decides how something goes on.

    Attributes:
        arrays: numbers, by name.
        values: plain JSON values, by name.
    """

    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def join(cls, parts: Mapping[str, State]) -> State:
        """One state of several parts, which :meth:`part` takes out again.

        Example:
            >>> joined = State.join({"clock": State(values={"seconds": 3})})
            >>> joined.part("clock").values["seconds"]
            3
        """
        return cls(
            arrays={
                f"{name}/{key}": array
                for name, part in parts.items()
                for key, array in part.arrays.items()
            },
            values={name: dict(part.values) for name, part in parts.items()},
        )

    def part(self, name: str) -> State:
        """A part of a joined state.

        Raises:
            ValueError: if there is no such part.
        """
        if name not in self.values:
            raise ValueError(f"there is no state of {name}")
        prefix = f"{name}/"
        return State(
            arrays={
                key.removeprefix(prefix): array
                for key, array in self.arrays.items()
                if key.startswith(prefix)
            },
            values=self.values[name],
        )


# -- The file -----------------------------------------------------------------------------------


def save(folder: Path, state: State) -> None:
    """Keep a state in a folder, in the place of the one kept before.

    Raises:
        OSError: if it cannot be written; the one kept before is still there.
    """
    arrays = {name: np.require(array, requirements="C") for name, array in state.arrays.items()}
    text = json.dumps(state.values, allow_nan=False)
    about = {"format": FORMAT, "engine": _ENGINE, "sum": _sum(arrays, text), "values": text}
    write_bytes(folder / NAME, safetensors.numpy.save(arrays, metadata=about))
    _clear(folder)


def load(folder: Path) -> State:
    """The state that was kept in a folder.

    Raises:
        CheckpointError: if there is none, or it is not as it was written, or made by another engine.
    """
    path = folder / NAME
    if not path.is_file():
        raise CheckpointError(f"{path}: there is no such checkpoint")
    try:
        with safe_open(path, framework="np") as file:
            about = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        if about.get("format") != FORMAT:
            raise CheckpointError(f"{path}: it is no checkpoint of format {FORMAT}")
        text = about["values"]
        if about["sum"] != _sum(arrays, text):
            raise CheckpointError(f"{path}: it is damaged")
        if about["engine"] != _ENGINE:
            raise CheckpointError(f"{path}: it was made by another version of the game's engine")
        return State(arrays=arrays, values=json.loads(text))
    except (OSError, SafetensorError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path}: it is damaged, or no checkpoint") from error


def remove(folder: Path) -> None:
    """Forget what was kept in a folder."""
    (folder / NAME).unlink(missing_ok=True)
    _clear(folder)


def _clear(folder: Path) -> None:
    """Remove what a process left that was killed while it wrote: see :mod:`cuckoo_env.files`."""
    for left in folder.glob(f".{NAME}.*"):
        left.unlink(missing_ok=True)


def _sum(arrays: Mapping[str, npt.NDArray[Any]], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


# -- States of what learners are made of --------------------------------------------------------


def network_state(network: torch.nn.Module) -> State:
    """The weights of a network."""
    return State(arrays={name: _numpy(each) for name, each in network.state_dict().items()})


def restore_network(network: torch.nn.Module, state: State) -> None:
    """Give a network the weights that another one like it had.

    Raises:
        ValueError: if they do not fit.
    """
    tensors = {name: torch.tensor(array) for name, array in state.arrays.items()}
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        raise ValueError("the weights do not fit the network") from error


def optimizer_state(optimizer: torch.optim.Optimizer) -> State:
    """What an optimiser remembers of earlier steps, and its settings."""
    kept = optimizer.state_dict()
    arrays, values = {}, {}
    for parameter, memory in kept["state"].items():
        for name, value in memory.items():
            if isinstance(value, torch.Tensor):
                arrays[f"{parameter}/{name}"] = _numpy(value)
            else:
                values[f"{parameter}/{name}"] = value
    return State(arrays=arrays, values={"groups": kept["param_groups"], "memory": values})


def restore_optimizer(optimizer: torch.optim.Optimizer, state: State) -> None:
    """Let an optimiser go on as another one like it.

    Raises:
        ValueError: if it does not fit.
    """
    memory: dict[int, dict[str, Any]] = {}
    tensors = {name: torch.tensor(array) for name, array in state.arrays.items()}
    for name, value in {**tensors, **state.values["memory"]}.items():
        parameter, _, key = name.partition("/")
        memory.setdefault(int(parameter), {})[key] = value
    optimizer.load_state_dict({"state": memory, "param_groups": state.values["groups"]})


def generators_state() -> State:
    """The generators of torch and NumPy that belong to the whole process: networks draw on them."""
    kind, words, *rest = np.random.get_state(legacy=True)  # noqa: NPY002 - it is not ours to choose
    arrays = {"torch": torch.get_rng_state().numpy(), "numpy": np.asarray(words)}
    if torch.cuda.is_available():
        arrays["cuda"] = torch.cuda.get_rng_state().numpy()
    return State(arrays=arrays, values={"numpy": [kind, *rest]})


def restore_generators(state: State) -> None:
    """Let the generators of the whole process go on from where others were."""
    kind, *rest = state.values["numpy"]
    np.random.set_state((kind, state.arrays["numpy"], *rest))  # noqa: NPY002
    torch.set_rng_state(torch.tensor(state.arrays["torch"]))
    if "cuda" in state.arrays:
        torch.cuda.set_rng_state(torch.tensor(state.arrays["cuda"]))


def games_state(games: Learners) -> State:
    """Games, as they stand, with their generators: as many numbers as bytes."""
    kept = games.__getstate__()
    return State(arrays={"games": np.frombuffer(kept["games"], np.uint8), **kept["arrays"]})


def restore_games(games: Learners, state: State) -> None:
    """Put games to where others of the same rules and number stood.

    Raises:
        ValueError: if they do not fit.
    """
    kept = games.__getstate__()
    arrays = {name: state.arrays[name] for name in kept["arrays"]}
    if {n: (a.shape, a.dtype) for n, a in arrays.items()} != {
        n: (a.shape, a.dtype) for n, a in kept["arrays"].items()
    }:
        raise ValueError("the games do not fit")
    games.__setstate__(
        {
            "settings": kept["settings"],
            "games": state.arrays["games"].tobytes(),
            "arrays": arrays,
        }
    )


def _numpy(tensor: torch.Tensor) -> npt.NDArray[Any]:
    """A copy of a tensor's numbers."""
    copy: npt.NDArray[Any] = tensor.detach().cpu().numpy().copy()
    return copy
