"""The README cannot rot: its examples run, and its links lead somewhere."""

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def test_examples_do_what_they_say() -> None:
    result = doctest.testfile(str(README), module_relative=False, encoding="utf-8")
    assert result.attempted > 15
    assert result.failed == 0


def test_links_lead_to_files() -> None:
    for page in [README, *ROOT.glob("docs/*.md"), ROOT / "CONTRIBUTING.md"]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.name}: {link}"
