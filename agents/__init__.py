"""Everything that can sit at a table: bots, solved tables and trained policies.

Agents are named by specs (:data:`KINDS` lists the kinds), see observations, and give the chances
of their actions.
"""

from cuckoo_env.agents.base import Agent, AgentError
from cuckoo_env.agents.bots import RandomBot, ThresholdBot
from cuckoo_env.agents.specs import BOTS, KINDS, fill, lineup, parse
from cuckoo_env.autoplay import sample

__all__ = [
    "BOTS",
    "KINDS",
    "Agent",
    "AgentError",
    "RandomBot",
    "ThresholdBot",
    "fill",
    "lineup",
    "parse",
    "sample",
]
