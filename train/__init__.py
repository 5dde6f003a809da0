"""Learning to play: environments for learners, PPO, and what comes after it."""
