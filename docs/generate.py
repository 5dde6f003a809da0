"""Write the pages that are made from the code's own tables: ``python docs/generate.py``.

``docs/environment.md`` is the docstring of ``cuckoo_env/aec.py`` and the tables that belong to it; the
list of what sources say is also written into that docstring. Nothing in them is typed twice.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from cuckoo_env.engine import ACTION_NAMES
from cuckoo_env.events import KINDS, Kind, Sees
from cuckoo_env.explain import CHOICES, SOURCES, SOURCES_DISAGREE, Disagreement
from cuckoo_env.files import write_text
from cuckoo_env.observation import Field, Layout
from cuckoo_env.rules import PRESETS, Preset, Rules

ROOT: Final = Path(__file__).resolve().parents[1]
MODULE: Final = ROOT / "cuckoo_env" / "aec.py"
PAGE: Final = ROOT / "docs" / "environment.md"

BEGIN: Final = "<!-- sources: written by docs/generate.py -->"
END: Final = "<!-- end of sources -->"
WIDTH: Final = 100
EXAMPLE: Final = "practice-table"
"""The rule set whose vector the observation table numbers."""

ACTIONS: Final = {
    "keep": "on its turn: the seat keeps its card",
    "swap": "on its turn: the seat asks its left neighbour to swap; the dealer draws from the stock",
    "accept": "asked: the seat swaps",
    "show": "asked: the seat shows a card that blocks",
    "pay": "asked: the seat pays a life and keeps its card unseen",
}
SEEN_BY: Final = {Sees.ALL: "all", Sees.SEAT: "the seat", Sees.BOTH: "the two seats"}
RANGES: Final = {"one-hot": "0 or 1", "flag": "0 or 1", "share": "0 to 1"}


def main() -> None:
    """Bring both files up to date."""
    source = module(MODULE.read_text(encoding="utf-8"))
    write_text(MODULE, source)
    write_text(PAGE, page(source))


def module(source: str) -> str:
    """The source of the environment's module, with the list of what sources say."""
    before, _, rest = source.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{BEGIN}", *map(_item, SOURCES_DISAGREE), f"{END}{after}"])


def _item(row: Disagreement) -> str:
    fields = f" ({_fields(row, '``')})" if row.fields else ""
    answers = [f"*{source}*: {row.says[source]}." for source in SOURCES if source in row.says]
    told = " ".join([f"- **{row.question}**{fields}", *answers, f"*Here*: {row.here}."])
    return textwrap.fill(
        told, WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )


def _fields(row: Disagreement, tick: str) -> str:
    return ", ".join(f"{tick}{name}{tick}" for name in row.fields.split(", "))


def page(source: str) -> str:
    """The environment's page, from the source of its module."""
    text = ast.get_docstring(ast.parse(source))
    assert text is not None
    before, _, rest = _as_markdown(text).partition(BEGIN)
    after = rest.partition(END)[2]
    title, _, body = before.partition("\n")
    parts = [
        "<!-- Written by docs/generate.py: change the code instead, and run it again. -->",
        f"# {title.rstrip('.')}",
        body.strip() + "\n\n" + "\n".join(_sources()) + after.rstrip(),
        "## Observation",
        f"The numbers are those of the rule set `{EXAMPLE}` with `with_rules=True`; without it the "
        "last two fields are not there. With other numbers of seats, fields with a block for every "
        "seat grow, and what follows moves on: see `env.layout.slices`.",
        "\n".join(_observation()),
        "## Actions",
        "\n".join(_actions()),
        "## Events",
        "\n".join(_events()),
        "## Rules",
        "Fields that are numbers (`seats`, `lives`, `decks`, `stake`, `max_rounds`, and a seat as "
        "`first_dealer`) mean what they say. The first value of each field is the default.",
        "\n".join(_values()),
        "## Presets",
        "\n".join(_presets()),
    ]
    return "\n\n".join(parts) + "\n"


def _as_markdown(text: str) -> str:
    """A docstring without the roles of its cross-references."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return re.sub(r"(?<!`)``(?!`)", "`", text)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(each.replace('|', '/') for each in row)} |" for row in cells]


def _sources() -> list[str]:
    rows = [
        [
            row.question,
            *(row.says.get(source, "–") for source in SOURCES),
            row.here + (f" ({_fields(row, '`')})" if row.fields else ""),
        ]
        for row in SOURCES_DISAGREE
    ]
    return _table(["question", *SOURCES, "here"], rows)


def _observation() -> list[str]:
    layout = Layout.of(Rules.parse(EXAMPLE), with_rules=True)
    rows = [_field(layout, each) for each in layout.fields()]
    return _table(["index", "field", "shape", "encoding", "range", "who sees it", "meaning"], rows)


def _field(layout: Layout, field: Field) -> list[str]:
    part = layout.slices[field.name]
    last = f"–{part.stop - 1}" if layout.length(field) > 1 else ""
    return [
        f"{part.start}{last}",
        f"`{field.name}`",
        f"seats × {field.width}" if field.per_seat else str(field.width),
        field.encoding,
        RANGES[field.encoding],
        "the viewer" if field.private else "all",
        field.meaning,
    ]


def _actions() -> list[str]:
    rows = [[str(number), name, ACTIONS[name]] for number, name in enumerate(ACTION_NAMES)]
    return _table(["action", "name", "meaning"], rows)


def _events() -> list[str]:
    head = ["event", "fields", "who sees the cards", "as it is told"]
    return _table(head, [_event(kind) for kind in KINDS])


def _event(kind: Kind) -> list[str]:
    fields = [name for name in kind.columns if name != "-"]
    seen_by = SEEN_BY[kind.cards] if "card" in fields else ""
    told = re.sub(r"\[\w+\|(\w+)\]", r"\1", kind.told)
    return [f"`{kind.name}`", ", ".join(fields), seen_by, told]


def _values() -> list[str]:
    rows = [
        [f"`{field}`", f"`{value}`", sentence]
        for field, values in CHOICES.items()
        for value, sentence in values.items()
    ]
    return _table(["field", "value", "meaning"], rows)


def _presets() -> list[str]:
    head = ["preset", "seats", "from", "what it is", "differs from the defaults by"]
    return _table(head, [_preset(preset) for preset in PRESETS.values()])


def _preset(preset: Preset) -> list[str]:
    if preset.most is None:
        seats = f"{preset.fewest} or more"
    else:
        seats = f"{preset.fewest} to {preset.most}".removesuffix(f" to {preset.fewest}")
    changes = ", ".join(f"`{name}={value}`" for name, value in preset.changes.items())
    return [f"`{preset.name}`", seats, preset.source, preset.summary, changes]


if __name__ == "__main__":
    main()
