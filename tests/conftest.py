"""What all tests share."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from typing import Any

import pytest
from hypothesis import settings

# Examples are timed by what they compile and by what else runs on the machine, so no deadline. In CI the
# examples are the same every time: a new failure there comes from the change that is tested.
settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
# As the command line does: torch's threads must not spin beside a busy core.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(autouse=True)
def _the_coach_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Advice is exact wherever it can be, however busy the machine is."""
    if "cuckoo_env.play.table" in sys.modules:
        coach = importlib.import_module("cuckoo_env.play.coach")
        monkeypatch.setattr(coach, "PATIENCE", 600.0)


@pytest.fixture
def may_go_on(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """What the coach prepares is begun, and not ended before this is set."""
    coach, event = importlib.import_module("cuckoo_env.play.coach"), threading.Event()
    plain = coach.Solved

    def slow(*arguments: Any) -> Any:
        event.wait(60)
        return plain(*arguments)

    monkeypatch.setattr(coach, "Solved", slow)
    return event


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the files in tests/golden again"
    )
