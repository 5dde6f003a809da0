"""The wheel and the sdist hold what they should, and an installed wheel works outside the tree."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINKED = ["agents", "evaluate", "play", "train"]


def run(*command: str | Path, cwd: Path) -> str:
    """The output of a command that must succeed, free of this process's Python settings."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(what: str, source: Path, out: Path) -> Path:
    """Build a `wheel` or an `sdist` with the setuptools of this environment."""
    arguments = [f"--{what}", "--no-isolation", "--outdir", out]
    run(sys.executable, "-m", "build", *arguments, cwd=source)
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the build reads, so that building leaves nothing in the checkout."""
    copy = tmp_path_factory.mktemp("source")
    skip = shutil.ignore_patterns("__pycache__")
    for name in ["cuckoo_env", *LINKED]:
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=skip)
    for name in ["pyproject.toml", "README.md", "LICENSE"]:
        shutil.copy(ROOT / name, copy)
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; dependencies are lent by the running environment."""
    home = tmp_path_factory.mktemp("installed") / "env"
    venv.create(home, symlinks=os.name != "nt")
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    run(*pip, "--no-deps", "--no-index", "--no-compile", wheel, cwd=home)
    # A `.pth` file adds the folder but does not run the `.pth` files in it: an editable install of
    # the project there stays out of sight.
    where = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home)
    (Path(where.strip()) / "lent.pth").write_text(sysconfig.get_path("purelib"))
    return home


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_has_one_top_level_package(wheel: Path) -> None:
    top = {name.split("/")[0] for name in names(wheel)}
    (info,) = top - {"cuckoo_env"}
    assert info.endswith(".dist-info")


def test_the_wheel_has_every_module_and_the_linked_folders_as_files(wheel: Path) -> None:
    modules = {path.relative_to(ROOT) for path in (ROOT / "cuckoo_env").rglob("*.py")}
    for folder in LINKED:
        linked = (ROOT / folder).rglob("*.py")
        modules |= {Path("cuckoo_env") / path.relative_to(ROOT) for path in linked}
    assert {path.as_posix() for path in modules} | {"cuckoo_env/py.typed"} <= names(wheel)
    tables = {
        f"cuckoo_env/agents/tables/{path.name}" for path in (ROOT / "agents/tables").iterdir()
    }
    assert len(tables) > 40
    assert tables <= names(wheel)
    pages = {f"cuckoo_env/play/static/{path.name}" for path in (ROOT / "play/static").iterdir()}
    assert "cuckoo_env/play/static/index.html" in pages
    assert pages <= names(wheel)
    policies = {
        f"cuckoo_env/{path.relative_to(ROOT).as_posix()}"
        for path in (ROOT / "agents/policies").glob("*/*")
    }
    assert policies <= names(wheel)
    with zipfile.ZipFile(wheel) as archive:
        for folder in LINKED:
            packed = archive.read(f"cuckoo_env/{folder}/__init__.py")
            assert packed == (ROOT / folder / "__init__.py").read_bytes()


def test_learning_libraries_come_only_with_their_extra(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    needed = metadata.get_all("Requires-Dist", [])
    base = {re.split("[<>=~!]", line)[0] for line in needed if "extra ==" not in line}
    assert base == {"gymnasium", "numba", "numpy", "pettingzoo", "rich", "safetensors", "typer"}


def test_the_sdist_builds_the_same_wheel(
    source: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sdist = build("sdist", source, tmp_path_factory.mktemp("sdist"))
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        assert not [member.name for member in archive if member.issym()]
        archive.extractall(unpacked, filter="data")
    (tree,) = unpacked.iterdir()
    again = build("wheel", tree, tmp_path_factory.mktemp("again"))
    assert names(again) == names(wheel)


def test_the_installed_wheel_works_outside_the_tree(installed: Path, tmp_path: Path) -> None:
    binaries = installed / ("Scripts" if os.name == "nt" else "bin")
    code = (
        "import cuckoo_env; from importlib.util import find_spec; print(cuckoo_env.__file__);"
        f"[print(find_spec('cuckoo_env.' + name).origin) for name in {LINKED}]"
    )
    for origin in run(binaries / "python", "-c", code, cwd=tmp_path).splitlines():
        assert Path(origin).is_relative_to(installed)
    assert "rules" in run(binaries / "cuckoo", "--help", cwd=tmp_path)
    assert "practice-table" in run(binaries / "cuckoo", "rules", cwd=tmp_path)
