"""What a client can choose from: rule sets, what varies in them, opponents and lessons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cuckoo_env import agents, explain
from cuckoo_env.agents import AgentError
from cuckoo_env.agents.policy import Policy
from cuckoo_env.agents.specs import names_a_threshold
from cuckoo_env.cards import N_RANKS
from cuckoo_env.play import lessons
from cuckoo_env.play.frames import JsonObject
from cuckoo_env.play.opponents import Opponent, unplayable
from cuckoo_env.play.table import MOST_LIVES, MOST_SEATS, RefusedError
from cuckoo_env.rules import PRESETS, Preset, Rules

DEFAULT_RULES: Final = "practice-table"


class Menu:
    """Everything that is offered, and the only way from what a client names to what is played.

    Attributes:
        rules: the rule set that is offered first.
        opponents: the line-up that is offered first.
        offered: every opponent in the menu, by label.
    """

    def __init__(
        self,
        rules: Rules,
        opponents: Sequence[Opponent],
        policies: Sequence[str] = (),
        text: str = "",
    ) -> None:
        """Draw up the menu.

        Args:
            rules: the rule set to offer first.
            opponents: the line-up to offer first.
            policies: trained policies to offer beside the bots, as run folders or files.
            text: what the rules were called by whoever chose them; "" if nobody did.
        """
        self.rules, self.opponents = rules, tuple(opponents)
        self._text = explain.exact_text(rules, text)
        chosen = [*opponents, *(Opponent.of(f"policy:{path}") for path in policies)]
        every = [Opponent.of(name) for name in agents.BOTS]
        self.offered = {each.label: each for each in [*every, *chosen]}
        specs = {each.spec for each in [*every, *chosen]}
        if len(specs) > len(self.offered):
            raise AgentError(
                "policy: two files of one name are refused; accepted: names that differ, as they"
                " are how players tell them apart"
            )

    def plain(self) -> JsonObject:
        """The menu as plain data, ready for JSON."""
        return {
            "presets": [_preset(each) for each in PRESETS.values() if each.fewest <= MOST_SEATS],
            "axes": {
                axis: [{"value": str(value), "sentence": told} for value, told in values.items()]
                for axis, values in explain.CHOICES.items()
            },
            "seats": [2, MOST_SEATS],
            "lives": [1, MOST_LIVES],
            "agents": [
                {"spec": each.label, "name": each.name, "summary": each.summary}
                for each in self.offered.values()
            ],
            "lessons": lessons.lessons(),
            "defaults": {
                "rules": self._text,
                "opponents": [each.label for each in self.opponents],
                "name": "You",
                "coach": True,
            },
        }

    def check_files(self) -> None:
        """Read the trained policies in the menu once, so that whoever offers them hears of mistakes.

        Raises:
            AgentError: for a policy that cannot be read.
        """
        for each in self.offered.values():
            kind, _, path = each.spec.partition(":")
            if kind == "policy":
                Policy.load(path)

    def unplayable(self, rules: Rules) -> JsonObject:
        """Who of those in the menu cannot play some rules: by label a sentence that says why."""
        found = {each.label: unplayable(each, rules) for each in self.offered.values()}
        return {label: why for label, why in found.items() if why is not None}

    def opponent(self, label: str) -> Opponent:
        """The opponent that a client names.

        Beside what is in the menu a client may name agents that are made from a number, such as
        ``threshold:5``. It can never name a file.

        Raises:
            RefusedError: for anything else.
        """
        if label in self.offered:
            return self.offered[label]
        if not names_a_threshold(label):
            accepted = f"threshold:T (0 to {N_RANKS}), or one of: {', '.join(self.offered)}"
            raise RefusedError.of("opponents", repr(label), accepted)
        return Opponent.of(label)


def _preset(preset: Preset) -> JsonObject:
    return {
        "name": preset.name,
        "summary": preset.summary,
        "source": preset.source,
        "seats": [preset.fewest, min(preset.most or MOST_SEATS, MOST_SEATS)],
    }
