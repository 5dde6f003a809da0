"""Random games of the engine against the plain referee, for as long as you like.

python tests/fuzz.py --minutes 30     plays fresh random cases on all cores
python tests/fuzz.py --seed 12345     plays the one case that failed again
"""

from __future__ import annotations

import argparse
import concurrent.futures
import multiprocessing
import secrets
import sys
import time

from differential import DisagreementError, play_cases

from cuckoo_env.compiled import available_cores

CHUNK = 500


def fuzz(minutes: float) -> int:
    """Play fresh cases for so many minutes; gives back how many there were.

    Raises:
        DisagreementError: naming the seed, the rules and what differs.
    """
    # The parent compiles, so that the workers find the machine code on disk.
    played = play_cases(range(CHUNK)).cases
    until = time.monotonic() + 60 * minutes
    # Spawned, not forked: a forked worker inherits locks, but not the threads that would release them.
    context = multiprocessing.get_context("spawn")
    workers = concurrent.futures.ProcessPoolExecutor(available_cores(), mp_context=context)
    try:
        while time.monotonic() < until:
            starts = [secrets.randbits(48) for _ in range(4 * available_cores())]
            for tally in workers.map(play_cases, [range(at, at + CHUNK) for at in starts]):
                played += tally.cases
            print(f"\r{played} games agree", end="", file=sys.stderr, flush=True)
    finally:
        workers.shutdown(cancel_futures=True)
    print(file=sys.stderr)
    return played


def main() -> int:
    """Fuzz, or play one case again; the exit status is 1 after a disagreement."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, help="play this one case")
    arguments = parser.parse_args()
    try:
        if arguments.seed is None:
            played = fuzz(arguments.minutes)
        else:
            played = play_cases(range(arguments.seed, arguments.seed + 1)).cases
    except DisagreementError as disagreement:
        print(f"\n{disagreement}")
        return 1
    print(f"{played} random games: the engine and the referee agree on all of them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
