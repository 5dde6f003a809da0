"""What is loaded when. Who may import whom at all is checked by import-linter (`make lint`)."""

import subprocess
import sys

import pytest

HEAVY = ["torch", "stable_baselines3", "sb3_contrib", "matplotlib", "tensorboard", "onnx"]
UPPER = ["cuckoo_env.agents", "cuckoo_env.evaluate", "cuckoo_env.train", "cuckoo_env.play"]


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter holds after an import statement."""
    code = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize(
    "statement", ["import cuckoo_env", "from cuckoo_env import cuckoo_v0", "import cuckoo_env.cli"]
)
def test_importing_the_core_loads_nothing_above_it(statement: str) -> None:
    assert loaded_by(statement).isdisjoint(HEAVY + UPPER)


def test_the_agents_need_no_torch() -> None:
    assert loaded_by("import cuckoo_env.agents").isdisjoint(HEAVY)
