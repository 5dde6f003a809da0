"""Learning to play: environments for learners, PPO, and what comes after it."""

import os

# Without this, beside a busy core, threads that wait for each other make training twenty times as slow. It
# counts only if torch is not imported yet.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
