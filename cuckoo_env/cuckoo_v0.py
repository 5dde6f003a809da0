"""Cuckoo (Chase the Ace) for PettingZoo: ``from cuckoo_env import cuckoo_v0; cuckoo_v0.env()``."""

from cuckoo_env.aec import env, raw_env

__all__ = ["env", "raw_env"]
