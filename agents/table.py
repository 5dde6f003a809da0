"""Solved tables as agents: for everything a seat can see, the chances of its actions.

A table is one compressed file of plain numbers (NumPy's ``npz``, read without pickle): sorted 64-bit keys of
observations, the chances of the actions, and a header that says which rules it is for and how good it
is. Tables that come with the package are the agent ``equilibrium``.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env.agents.base import MAY_DIFFER, AgentError
from cuckoo_env.compiled import entry
from cuckoo_env.files import printable, read_at_most, write_bytes
from cuckoo_env.observation import LAYOUT_VERSION, Layout, observation_key
from cuckoo_env.rules import FinalTie, Rules, RulesError

FORMAT: Final = "cuckoo-table/1"
_LARGEST: Final = 200_000_000
"""Bytes of a table file, packed or unpacked, beyond which it is refused unread."""
_DAMAGED: Final = (
    ValueError,
    TypeError,
    KeyError,
    OSError,
    EOFError,
    RecursionError,
    RuntimeError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading an archive raises that is damaged, or that was made to do damage."""


class TableError(AgentError):
    """A table that is refused; the message names its file and what is wrong with it."""


@entry
def _key_all(observations: Any, keys: Any) -> None:
    for row in range(observations.shape[0]):
        keys[row] = observation_key(observations, row)


def same_for_a_table(rules: Rules) -> Rules:
    """The rules with what a table does not depend on set to one value."""
    return rules.replace(**MAY_DIFFER, decks=rules.decks)


@dataclass(frozen=True, kw_only=True)
class TableAgent:
    """An agent that looks up what it sees.

    Attributes:
        name: the spec it was made from.
        rules: the rules it was solved for.
        keys: (entries,) uint64, ascending: the observations it knows.
        chances: (entries, n_actions) float32, rows sum to one.
        about: how it was made and how good it is, for people.
    """

    name: str
    rules: Rules
    keys: npt.NDArray[np.uint64]
    chances: npt.NDArray[np.float32]
    about: Mapping[str, Any]

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> npt.NDArray[np.float64]:
        """See :meth:`cuckoo_env.agents.base.Agent.probabilities`.

        Raises:
            TableError: for an observation that cannot arise under the table's rules.
        """
        keys = observation_keys(self.rules, observations, layout)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        if not (self.keys[at] == keys).all():
            raise TableError(
                f"agent: {self.name} knows no such position; accepted: what arises under {self.rules}"
            )
        chances = np.zeros(masks.shape, np.float64)
        chances[:, : self.chances.shape[1]] = self.chances[at]
        chances *= masks
        chances /= chances.sum(axis=1, keepdims=True)
        return chances

    def player(self) -> None:
        """Nothing: tables are asked through the batch interface."""

    def save(self, path: Path) -> None:
        """Write the table; whoever reads the file sees all of it or nothing.

        Raises:
            OSError: if it cannot be written.
        """
        header = {
            "format": FORMAT,
            "layout_version": LAYOUT_VERSION,
            "rules": str(self.rules),
            "about": dict(self.about),
        }
        packed = io.BytesIO()
        text = np.frombuffer(json.dumps(header).encode(), np.uint8)
        np.savez_compressed(packed, header=text, keys=self.keys, chances=self.chances)
        write_bytes(path, packed.getvalue())


def observation_keys(
    rules: Rules, observations: npt.NDArray[np.float32], layout: Layout
) -> npt.NDArray[np.uint64]:
    """The keys of observations: (n,) uint64.

    Raises:
        TableError: for a layout other than the rules' own, whose numbers would mean something else.
    """
    own = Layout.of(rules)
    if (layout.max_seats, layout.with_rules) != (own.max_seats, own.with_rules):
        raise TableError("layout: a table reads only the smallest layout of its own rules")
    if rules.final_tie is FinalTie.CARRY_STAKE and rules.max_rounds is None:
        # The pot grows without bound, so positions are told apart without it.
        observations = observations.copy()
        observations[:, layout.slices["carried"]] = 0.0
    keys = np.zeros(len(observations), np.uint64)
    _key_all(np.ascontiguousarray(observations), keys)
    return keys


def make_table(
    name: str,
    rules: Rules,
    keys: npt.NDArray[np.uint64],
    chances: npt.NDArray[np.floating[Any]],
    about: Mapping[str, Any],
) -> TableAgent:
    """A table from keys in any order; observations that occur more than once count once."""
    unique, first = np.unique(keys, return_index=True)
    return TableAgent(
        name=name, rules=rules, keys=unique, chances=chances[first].astype(np.float32), about=about
    )


def load(path: str | Path, rules: Rules, *, name: str | None = None) -> TableAgent:
    """The table in a file, for a table with these rules.

    Raises:
        TableError: for a file that is missing, damaged, foreign, or for other rules.
    """
    file = Path(path)
    try:
        data = read_at_most(file, _LARGEST)
    except OSError as error:
        raise TableError(f"table: {file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise TableError(f"table: {file} is refused: {error}") from error
    try:
        table = _read(data, name or f"table:{file}")
    except _DAMAGED as error:
        raise TableError(f"table: {file} is refused: {printable(str(error))}") from error
    if same_for_a_table(table.rules) != same_for_a_table(rules):
        raise TableError(f"table: {file} is for {table.rules}, not for {rules}")
    return table


def _read(data: bytes, name: str) -> TableAgent:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(each.file_size for each in archive.infolist()) > _LARGEST:
            raise ValueError(f"more than {_LARGEST:,} bytes when unpacked")
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        header = json.loads(bytes(arrays["header"]))
        keys, chances = arrays["keys"], arrays["chances"]
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"it is not a table of format {FORMAT}")
    if header.get("layout_version") != LAYOUT_VERSION:
        raise ValueError(
            f"it reads observation layout {header.get('layout_version')!r}; this version has {LAYOUT_VERSION}"
        )
    if not isinstance(header.get("rules"), str) or not isinstance(header.get("about"), dict):
        raise ValueError("its header names no rules")
    try:
        rules = Rules.parse(header["rules"])
    except RulesError as error:
        raise ValueError(str(error)) from error
    _check_arrays(keys, chances, Layout.of(rules).n_actions)
    return TableAgent(name=name, rules=rules, keys=keys, chances=chances, about=header["about"])


def _check_arrays(keys: npt.NDArray[Any], chances: npt.NDArray[Any], n_actions: int) -> None:
    if (
        keys.dtype != np.uint64
        or keys.ndim != 1
        or not len(keys)
        or not (keys[1:] > keys[:-1]).all()
    ):
        raise ValueError("its keys are not ascending 64-bit numbers")
    if chances.dtype != np.float32 or chances.shape != (len(keys), n_actions):
        raise ValueError(
            f"its chances are {chances.dtype} {chances.shape}, not float32 ({len(keys)}, {n_actions})"
        )
    if not (
        np.isfinite(chances).all()
        and (chances >= 0).all()
        and (abs(chances.sum(axis=1) - 1) < 1e-4).all()
    ):
        raise ValueError("its chances are no probabilities")


def shipped(rules: Rules, name: str = "equilibrium") -> TableAgent:
    """The equilibrium that comes with the package for these rules.

    Raises:
        AgentError: if there is none; it says how to make one.
    """
    wanted = same_for_a_table(rules)
    folder = resources.files("cuckoo_env.agents") / "tables"
    known = (
        json.loads((folder / "index.json").read_text()) if (folder / "index.json").is_file() else {}
    )
    for text, file in known.items():
        if same_for_a_table(Rules.parse(text)) == wanted:
            with resources.as_file(folder / file) as path:
                return load(path, rules, name=name)
    raise AgentError(
        f"agent: {name} is not shipped for {rules}; tables of two to five seats can be solved: cuckoo solve"
        " --rules R --out FILE, then table:FILE"
    )
