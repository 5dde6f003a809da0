"""What is special about compiled code: it must not go stale, and it must survive forks and threads."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt
import pytest

import cuckoo_env
from cuckoo_env import engine, seeding
from cuckoo_env.autoplay import PLAYER
from cuckoo_env.batch import Batch
from cuckoo_env.compiled import (
    INTERPRETED,
    SLICE,
    SOURCES,
    in_slices,
    slice_done,
    sources_digest,
    take_slice,
)  # fmt: skip
from cuckoo_env.observation import OFFSETS
from cuckoo_env.rules import Rules

PACKAGE: Final = Path(cuckoo_env.__file__).parent


def run(script: str, *arguments: str, **environment: str) -> str:
    """Run a script in a process of its own; gives back what it prints."""
    paths = [str(Path(__file__).parent), str(PACKAGE.parent)]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script), *arguments],
        env={"PYTHONPATH": os.pathsep.join(paths), **os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --------------------------------------------------------------------------------------
# Interpreted and compiled code do the same
# --------------------------------------------------------------------------------------

RULE_SETS: Final = (
    "practice-table,lives=1",
    "onesies,lives=3,king=ends_trading,queen=redirects,max_rounds=5",
    "jack-rule,seats=4,lives=1,queen=redirects,dealer=rotation,direction=right",
    "pairs-safe,seats=3,king=open,ace=high,game=round",
    "alternate-exchange,seats=4,lives=1,final_tie=cut,decks=2,penalty=shared",
    "kings-face-up,seats=2,lives=1,final_tie=carry_stake,max_rounds=6",
)
GAMES_A_RULE_SET: Final = 50


def play_games() -> bytes:
    """Some games of several rule sets: every record after every step, byte by byte."""
    parts = []
    for which, text in enumerate(RULE_SETS):
        rules = Rules.parse(text)
        compiled = engine.compile_rules(rules)
        for i in range(GAMES_A_RULE_SET):
            games = engine.new_games(1, rules.seats, recording=True)
            games["rng"][0] = seeding.generator_for(seeding.derive(which, i), seeding.CARDS)
            engine.start(games, compiled, 0)
            picks = np.random.default_rng(i)
            while legal := engine.legal(games, compiled, 0):
                parts.append(games.tobytes())
                choices = [action for action in range(engine.N_ACTIONS) if legal >> action & 1]
                engine.step(games, compiled, 0, choices[int(picks.integers(len(choices)))])
            parts.append(games.tobytes())
    return b"".join(parts)


def play_batch() -> bytes:
    """A batch of several rule sets with its observations, masks and results."""
    batch = Batch(RULE_SETS, games=12, seed=1, with_rules=True)
    parts, picks = [], np.random.default_rng(1)
    for _ in range(25):
        seen = (batch.observations, batch.masks, batch.seats, batch.done, batch.returns)
        parts += [array.tobytes() for array in seen]
        batch.step((picks.random(batch.masks.shape) * batch.masks).argmax(axis=1))
    return b"".join(parts)


@pytest.mark.skipif(INTERPRETED, reason="there is nothing to compare with when all is interpreted")
@pytest.mark.parametrize("play", [play_games, play_batch])
def test_interpreted_code_plays_the_same_games_byte_by_byte(
    play: Callable[[], bytes], tmp_path: Path
) -> None:
    interpreted = tmp_path / "interpreted"
    script = f"""
        import pathlib
        from test_engine_facts import INTERPRETED, {play.__name__}
        assert INTERPRETED
        pathlib.Path({str(interpreted)!r}).write_bytes({play.__name__}())
    """
    run(script, NUMBA_DISABLE_JIT="1")
    compiled = play()
    assert len(compiled) > 100_000
    assert interpreted.read_bytes() == compiled


# --------------------------------------------------------------------------------------
# The cache on disk never goes stale
# --------------------------------------------------------------------------------------

LOOK = """
    import numpy as np
    from cuckoo_env import engine
    from cuckoo_env.observation import Layout, observe, sections_of
    from cuckoo_env.rules import Rules

    rules = Rules.parse("onesies,first_dealer=0")
    games, compiled = engine.new_games(1, 3, recording=False), engine.compile_rules(rules)
    games["lives"], games["card"], games["seat"], games["asked"] = 1, 48, 1, 1
    games["staked"], games["phase"] = 1, engine.RESPONSE
    layout = Layout.of(rules)
    observation, mask = np.zeros((1, layout.size), np.float32), np.zeros((1, 5), np.int8)
    observe(games, compiled, layout.offsets, sections_of(layout, (rules,)), 0, 1, observation, mask)
    print(mask[0].tolist(), layout.view(observation, "lives")[0, 0, 0])
"""
"""A seat with one life and a king is asked, where showing and paying are choices."""

EDITS: Final = (
    # The engine's rule is a callee of `observe`, which is another file's entry.
    ("engine.py", "int(g.lives[seat]) >= 2", "int(g.lives[seat]) >= 1", "[0, 0, 1, 1, 1]"),
    ("engine.py", "power[KING] = {", "power[1] = {", "[0, 0, 1, 0, 0]"),
    ("cards.py", "KING: Final = 13", "KING: Final = 12", "[0, 0, 1, 0, 0]"),
)


@pytest.mark.skipif(INTERPRETED, reason="nothing is cached when all is interpreted")
def test_an_edit_of_a_rule_is_seen_although_machine_code_is_cached(tmp_path: Path) -> None:
    copy = tmp_path / "cuckoo_env"
    copy.mkdir()
    for file in PACKAGE.glob("*.py"):
        (copy / file.name).write_bytes(file.read_bytes())
    environment = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    look = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{textwrap.dedent(LOOK)}"
    assert run(look, **environment).startswith("[0, 0, 1, 1, 0]")
    assert list((tmp_path / "cache").rglob("*.nbi")), "machine code was kept"
    for name, old, new, expected in EDITS:
        original = (copy / name).read_text(encoding="utf-8")
        assert original.count(old) == 1
        (copy / name).write_text(original.replace(old, new), encoding="utf-8")
        assert run(look, **environment).startswith(expected), (name, new)
        (copy / name).write_text(original, encoding="utf-8")


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled when all is interpreted")
def test_the_first_compile_on_a_machine_says_so_once_and_later_runs_say_nothing(
    tmp_path: Path,
) -> None:
    look = f"import sys; sys.stderr = sys.stdout\n{textwrap.dedent(LOOK)}"
    first, again = (run(look, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first == f"cuckoo: compiling the game for this machine, once ...\n{again}"


COMPILERS: Final = {"entry", "helper", "inlined", "numba.njit", "njit"}


def _compiled_functions(source: str) -> list[ast.FunctionDef]:
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return [
        function
        for function in functions
        if {ast.unparse(mark).split("(")[0] for mark in function.decorator_list} & COMPILERS
    ]


def _origins(source: str) -> dict[str, str]:
    """For each name that a file imports from the package, the file it comes from."""
    origins = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cuckoo_env"):
            home = (node.module or "").removeprefix("cuckoo_env").strip(".").replace(".", "/")
            for name in node.names:
                file = f"{home}.py" if home else f"{name.name}.py"
                origins[name.asname or name.name] = file
    return origins


def test_everything_that_compiled_code_takes_from_other_files_is_part_of_the_key() -> None:
    # What an entry takes from its own file Numba looks at by itself.
    paths = [*PACKAGE.glob("*.py"), *PACKAGE.glob("*/*.py")]
    files = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in paths}
    taken = set()
    for source in files.values():
        origins = _origins(source)
        for function in _compiled_functions(source):
            names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            taken |= {origins[name] for name in names & set(origins)}
    assert {"cards.py", "engine.py", "observation.py", "autoplay.py"} <= taken
    assert taken <= set(SOURCES)


def test_no_field_of_a_record_is_hidden_by_an_attribute_of_numpys() -> None:
    # Uncompiled, `record.size` would be NumPy's size of the record and not the field.
    records = (engine.RULES, engine.game_dtype(4, recording=True), OFFSETS, PLAYER)
    for record in records:
        assert not set(record.names or ()) & set(dir(np.record))


COMPILES: Final = """
    import hashlib, sys
    import numpy as np
    from cuckoo_env.batch import Batch

    for rules in sys.argv[1:]:
        batch = Batch(rules, 64, seed=1, threads=1)
        seen = hashlib.sha256()
        for _ in range(30):
            batch.step(batch.masks.argmax(axis=1).astype(np.int8))
            seen.update(batch.observations.tobytes())
        print(seen.hexdigest())
"""


@pytest.mark.skipif(INTERPRETED, reason="nothing is kept uncompiled")
@pytest.mark.slow
def test_what_several_processes_compiled_goes_together(tmp_path: Path) -> None:
    small, large = "practice-table", "full-rotation,seats=5"
    kept = {"NUMBA_CACHE_DIR": str(tmp_path)}
    told = run(COMPILES, small, **kept) + run(COMPILES, large, **kept)
    assert run(COMPILES, small, large, **kept) == told


@pytest.mark.skipif(INTERPRETED, reason="nothing is kept uncompiled")
def test_a_record_is_called_by_what_is_in_it() -> None:
    script = """
        import sys
        import numba, numpy as np
        from cuckoo_env import engine

        for capacity in map(int, sys.argv[1:]):
            record = numba.typeof(np.zeros(1, engine.game_dtype(capacity, recording=False))).dtype
            print(record.mangling_args)
    """
    small, large = run(script, "4", "10").splitlines()
    assert small != large
    assert run(script, "10", "4").splitlines() == [large, small]


def test_the_key_is_a_digest_of_files_that_exist() -> None:
    assert len(sources_digest()) == 64
    assert all((PACKAGE / name).is_file() for name in SOURCES)


# --------------------------------------------------------------------------------------
# Forks, threads and busy cores
# --------------------------------------------------------------------------------------

GAMES: Final = 4096


def steps(batch: Batch, number: int = 20) -> list[npt.NDArray[Any]]:
    """Play on with random actions; gives back what is seen at the end."""
    picks = np.random.default_rng(1)
    for _ in range(number):
        luck = picks.random(batch.masks.shape) * batch.masks
        batch.step(luck.argmax(axis=1).astype(np.int8))
    return [batch.observations, batch.masks, batch.seats, batch.done, batch.returns]


def assert_same(one: list[npt.NDArray[Any]], other: list[npt.NDArray[Any]]) -> None:
    for ours, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_results_do_not_depend_on_threads(threads: int) -> None:
    alone = steps(Batch("practice-table", GAMES, seed=1, threads=1))
    assert_same(steps(Batch("practice-table", GAMES, seed=1, threads=threads)), alone)


def test_several_python_threads_step_their_own_batches() -> None:
    batches = [Batch("practice-table", GAMES, seed=seed, threads=2) for seed in range(4)]
    workers = [threading.Thread(target=steps, args=(batch,)) for batch in batches]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for seed, batch in enumerate(batches):
        alone = steps(Batch("practice-table", GAMES, seed=seed, threads=1))
        assert_same(
            [batch.observations, batch.masks, batch.seats, batch.done, batch.returns], alone
        )


@numba.njit(nogil=True)
def _count(shares: Any, visits: Any) -> None:
    start = take_slice(shares)
    while start < visits.size:
        stop = min(start + SLICE, visits.size)
        for i in range(start, stop):
            visits[i] += 1
        slice_done(shares, stop - start)
        start = take_slice(shares)


@pytest.mark.parametrize("threads", [1, 2, 16])
@pytest.mark.parametrize("games", [1, SLICE, 5 * SLICE + 1, 100_000])
def test_every_game_is_taken_once(games: int, threads: int) -> None:
    visits = np.zeros(games, np.int64)
    for _ in range(100):
        in_slices(lambda shares: _count(shares, visits), games, threads)
    assert (visits == 100).all()


def test_a_thread_that_comes_late_holds_nobody_up() -> None:
    visits, here, goes_on = np.zeros(GAMES, np.int64), threading.get_ident(), threading.Event()
    given_up: list[int] = []

    def work(shares: Any) -> None:
        if threading.get_ident() != here and not goes_on.wait(60):
            given_up.append(1)
        _count(shares, visits)

    try:
        in_slices(work, GAMES, 2)
        assert not given_up
        assert (visits == 1).all()
    finally:
        goes_on.set()


needs_threads = pytest.mark.skipif(INTERPRETED, reason="uncompiled, all is done on one thread")


@needs_threads
def test_an_error_on_another_thread_is_raised_here() -> None:
    here, has_taken, taken = threading.get_ident(), threading.Event(), []

    def work(shares: Any) -> None:
        if threading.get_ident() == here:
            assert has_taken.wait(60)
        else:
            taken.append(_take(shares))
            has_taken.set()
            raise MemoryError("of another thread")
        _count(shares, np.zeros(GAMES))

    with pytest.raises(MemoryError, match="of another thread"):
        in_slices(work, GAMES, 2)
    assert taken == [0]


@needs_threads
def test_after_an_error_here_nobody_works_on() -> None:
    here, has_come, goes_on = threading.get_ident(), threading.Event(), threading.Event()
    visits, left = np.zeros(GAMES, np.int64), []

    def work(shares: Any) -> None:
        if threading.get_ident() == here:
            assert has_come.wait(60)
            threading.Timer(0.2, goes_on.set).start()
            raise KeyboardInterrupt
        has_come.set()
        goes_on.wait(60)
        _count(shares, visits)
        left.append(int(visits.sum()))

    with pytest.raises(KeyboardInterrupt):
        in_slices(work, GAMES, 2)
    assert left == [0]


@numba.njit(nogil=True)
def _take(shares: Any) -> int:
    return take_slice(shares)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_forked_child_steps_its_own_batch() -> None:
    script = """
        import os, sys, warnings
        import numpy as np
        from cuckoo_env.batch import Batch
        from test_engine_facts import assert_same, steps

        # Newer Pythons warn of any fork beside threads; this one is known to be sound.
        warnings.simplefilter("ignore", DeprecationWarning)
        parent = Batch("practice-table", 4096, seed=1, threads=2)
        expected = [array.copy() for array in steps(parent)]
        child = os.fork()
        if not child:
            assert_same(steps(Batch("practice-table", 4096, seed=1, threads=2)), expected)
            steps(parent)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        steps(parent)
        print(os.waitstatus_to_exitcode(status))
    """
    assert run(script) == "0\n"


def test_a_busy_core_changes_nothing_but_the_time() -> None:
    alone = steps(Batch("practice-table", GAMES, seed=1, threads=1))
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        assert_same(steps(Batch("practice-table", GAMES, seed=1)), alone)
    finally:
        busy.kill()
        busy.wait()
