"""The pages that are made from the code's tables are up to date."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from cuckoo_env import aec, cli
from cuckoo_env.engine import ACTION_NAMES
from cuckoo_env.explain import SOURCES, SOURCES_DISAGREE
from cuckoo_env.observation import FIELDS, Layout
from cuckoo_env.rules import AXES, PRESETS, Rules
from cuckoo_env.rules import FIELDS as RULE_FIELDS

HINT = "run: python docs/generate.py"


def load_generator() -> ModuleType:
    path = Path(__file__).parents[1] / "docs" / "generate.py"
    spec = importlib.util.spec_from_file_location("docs_generate", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


generate = load_generator()
SOURCE = generate.MODULE.read_text(encoding="utf-8")
PAGE = generate.PAGE.read_text(encoding="utf-8")


def test_the_environments_docstring_lists_what_the_sources_say() -> None:
    assert generate.module(SOURCE) == SOURCE, HINT
    block = aec.__doc__.partition(generate.BEGIN)[2].partition(generate.END)[0]
    told = " ".join(block.split())
    for row in SOURCES_DISAGREE:
        assert row.question in told
        for answer in [*row.says.values(), row.here]:
            assert answer in told


def test_the_environments_page_is_up_to_date() -> None:
    assert generate.page(SOURCE) == PAGE, HINT


def test_a_page_that_is_not_up_to_date_would_be_found() -> None:
    stale = SOURCE.replace("*Cuckoo card*: 3 to 10.", "*Cuckoo card*: 3 to 9.")
    assert stale != SOURCE
    assert generate.module(stale) == SOURCE


def test_the_page_has_every_row_of_every_table() -> None:
    for field in FIELDS:
        assert field.meaning in PAGE
    for name in (*ACTION_NAMES, *AXES, *PRESETS):
        assert f"`{name}`" in PAGE or f"| {name} |" in PAGE
    layout = Layout.of(Rules.parse(generate.EXAMPLE), with_rules=True)
    last = re.findall(r"^\| \d+–(\d+) \| `rule_numbers`", PAGE, re.MULTILINE)
    assert last == [str(layout.size - 1)]


def test_the_page_is_markdown() -> None:
    assert PAGE.count("```") == 2
    assert ":class:" not in PAGE
    assert generate.BEGIN not in PAGE
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    assert len(rows) > 100
    assert not [line for line in rows if not line.endswith("|")]


def test_the_example_of_the_page_runs() -> None:
    code = PAGE.partition("```python\n")[2].partition("```")[0]
    ast.parse(code)
    exec(compile(code, "docs/environment.md", "exec"), {})


# ---- what the sources say


def test_every_row_is_a_disagreement_or_a_silence() -> None:
    for row in SOURCES_DISAGREE:
        assert set(row.says) <= set(SOURCES)
        assert len(set(row.says.values())) != 1 or len(row.says) < len(SOURCES), row.question
        assert set(filter(None, row.fields.split(", "))) <= set(RULE_FIELDS)


def test_every_axis_that_a_source_knows_is_asked_about() -> None:
    asked = {name for row in SOURCES_DISAGREE for name in row.fields.split(", ")}
    ours = {"game", "max_rounds"}  # what no source has
    assert set(RULE_FIELDS) - asked == ours


def test_the_sources_are_those_of_the_presets() -> None:
    assert set(SOURCES) <= {preset.source for preset in PRESETS.values()}


def test_the_command_line_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rules", "--sources"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    for row in SOURCES_DISAGREE:
        assert row.question in told
        assert row.here in told
    assert cli.main(["rules", "--sources", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["question"] for row in rows] == [row.question for row in SOURCES_DISAGREE]
    assert rows[0]["says"] == dict(SOURCES_DISAGREE[0].says)
