"""The documents cannot rot: their examples run, as do those in docstrings, and links lead somewhere."""

import doctest
import importlib
import pkgutil
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import cuckoo_env

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


@pytest.mark.parametrize(
    ("page", "least"), [("README.md", 15), ("docs/batch.md", 15), ("docs/gymnasium.md", 10)]
)
def test_examples_do_what_they_say(page: str, least: int) -> None:
    result = doctest.testfile(str(ROOT / page), module_relative=False, encoding="utf-8")
    assert result.attempted > least
    assert result.failed == 0


def _with_examples() -> list[str]:
    """The modules in whose docstrings there are examples."""
    found = [module.name for module in pkgutil.walk_packages(cuckoo_env.__path__, "cuckoo_env.")]
    return [name for name in found if ">>> " in Path(find_spec(name).origin).read_text()]


@pytest.mark.parametrize("name", _with_examples())
def test_examples_in_docstrings_do_what_they_say(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_links_lead_to_files() -> None:
    for page in [README, *ROOT.glob("docs/*.md"), ROOT / "CONTRIBUTING.md"]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.name}: {link}"
