"""The practice table in a terminal: the same game and the same coach as on the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from cuckoo_env.cards import card_symbol, parse_card
from cuckoo_env.engine import OUTCOME_NAMES, WAITING
from cuckoo_env.play.frames import JsonObject
from cuckoo_env.play.table import Table

Ask = Callable[[str], str]

ACTIONS: Final = {
    "keep": "keep your card: your turn is used up, but you may still be asked to swap",
    "swap": "try for another card, not knowing which: it may be worse",
    "accept": "give the card that you are asked for, and take theirs",
    "show": "show your card, which blocks: both keep what they have",
    "pay": "pay a life and keep your card unseen",
}
"""What every action means, for whoever asks."""

NO_ADVICE: Final = (
    "no advice on this decision: no deal was found from which these opponents would have played as "
    "they did."
)
QUIT: Final = "quit"
_WORDS: Final = {
    "decide": ("coach", "rules", "help", QUIT),
    "watch": ("watch", "end", "restart", QUIT),
    "over": ("again", "replay", QUIT),
}
"""What may be typed beside the actions, by phase; in the last two the first is what Enter means."""

_CARD: Final = re.compile(r"(?:10|[A2-9JQK])[♣♦♥♠]")
_RED: Final = "♦♥"


class Terminal:
    """One person at a table, typing.

    Attributes:
        table: the table.
    """

    def __init__(self, table: Table, console: Console, ask: Ask) -> None:
        """Sit down.

        Args:
            table: the table.
            console: where to print.
            ask: prompts for a line and returns it; raises EOFError when there are no more.
        """
        self.table = table
        self._console = console
        self._ask = ask

    def play(self) -> None:
        """Play until the person has had enough, or has nothing more to type."""
        answer: JsonObject | None = self.table.snapshot()
        while answer is not None:
            self._tell(answer)
            answer = self._next(answer)

    def _next(self, answer: JsonObject) -> JsonObject | None:
        """Ask until something is typed that leads on; None to leave."""
        words = [*answer["legal"], *_WORDS[answer["phase"]]]
        while True:
            try:
                typed = self._ask(self._prompt(answer)).strip().lower()
            except EOFError:
                self._print("")
                return None
            word = _meant(typed, words, default=answer["phase"] != "decide")
            if word == QUIT:
                return None
            if word is None:
                self._print(f"Please type one of: {', '.join(words)}.")
                continue
            following = self._do(word, answer)
            if following is not None:
                return following

    def _prompt(self, answer: JsonObject) -> str:
        match answer["phase"]:
            case "decide":
                card = _symbol(answer["view"]["seats"][self.table.seat]["card"])
                choices = " or ".join(_choice(action, answer) for action in answer["legal"])
                return f"You hold {card}: {choices}? (help, {QUIT}) "
            case "watch":
                return f"You are out. Watch on (Enter), end, restart or {QUIT}? "
            case _:
                return f"Play again (Enter), replay or {QUIT}? "

    def _do(self, word: str, answer: JsonObject) -> JsonObject | None:
        """Do what a word means; None if it only shows something."""
        table, turn = self.table, answer["turn"]
        match word:
            case "help":
                self._help(answer)
            case "rules":
                self._rules(answer)
            case "replay":
                self._replay()
            case "coach":
                return self._switch_coach(turn, on=not answer["coach"])
            case "watch":
                return table.watch(turn, "go")
            case "end":
                return table.watch(turn, "end")
            case "restart" | "again":
                return table.restart(turn)
            case _:
                return table.act(turn, word)
        return None

    def _switch_coach(self, turn: int, *, on: bool) -> JsonObject:
        answer = self.table.set_coach(turn, on=on)
        self._print(f"The coach is {'on' if on else 'silent'}.")
        # What was told last has been read.
        return {**answer, "frames": []}

    # Telling

    def _tell(self, answer: JsonObject) -> None:
        if answer["advice"] is not None:
            self._print(f"Coach: {_advice(answer['advice'])}", style="cyan")
        if answer["unadvised"]:
            self._print(f"Coach: {NO_ADVICE}", style="cyan")
        for frame in answer["frames"]:
            if frame["event"] == "round":
                self._print("")
            self._print(frame["text"], style="bold" if frame["event"] == "round" else "")
            if frame["why"] is not None:
                self._print(f"  {frame['why']}", style="dim")
        self._print("")
        self._console.print(self._seats(answer))
        if answer["view"]["pot"] is not None:
            self._print(f"The pot: {answer['view']['pot']:g}")
        if answer["results"] is not None:
            self._results(answer["results"])

    def _seats(self, answer: JsonObject) -> Grid:
        view = answer["view"]
        grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for column in ("seat", "lives", "card", ""):
            grid.add_column(column)
        for player, seat in zip(answer["players"], view["seats"], strict=True):
            name = f"{player['name']} (you)" if player["you"] else player["name"]
            lives = "●" * seat["lives"] + "○" * (seat["max_lives"] - seat["lives"])
            grid.add_row(name, lives, _coloured(_face(seat)), _notes(player["seat"], view))
        return grid

    def _results(self, results: JsonObject) -> None:
        if results["payoffs"] is not None:
            paid = zip(self.table.names, results["payoffs"], strict=True)
            self._print(f"Payoffs: {', '.join(f'{name} {payoff:+g}' for name, payoff in paid)}")
        if results["judged"]:
            self._costliest(results)

    def _costliest(self, results: JsonObject) -> None:
        self._print("")
        judged = f"The coach judged {results['judged']} of {results['decisions']} decisions."
        if not results["costliest"]:
            self._print(f"{judged} None clearly cost you anything.")
            return
        self._print(judged)
        self._print("Your costliest decisions:", style="bold")
        for advice in results["costliest"]:
            self._print(f"- {advice['when']}: {_advice(advice)}", style="cyan")

    def _help(self, answer: JsonObject) -> None:
        self._print("Do not be left with the lowest card. You can:")
        for action in answer["legal"]:
            self._print(f"  {action}: {ACTIONS[action]}")
        rules = answer["rules"]
        if rules["special"]:
            self._print("What is special about these rules:")
        for field in rules["special"]:
            self._print(f"  {rules['sentences'][field]}")
        self._print("The first letters are enough. Beside that:")
        self._print("  coach: let the coach speak or be silent")
        self._print("  rules: what is played here, in sentences")
        self._print(f"  {QUIT}: leave the table")

    def _rules(self, answer: JsonObject) -> None:
        rules = answer["rules"]
        self._print(rules["title"], style="bold")
        for sentence in [*rules["sentences"].values(), *rules["together"]]:
            self._print(f"- {sentence}")

    def _replay(self) -> None:
        knew: list[list[str]] = [[] for _ in self.table.names]
        for step in self.table.replay():
            self._print(step["text"])
            for viewer, name in enumerate(self.table.names):
                before, knew[viewer] = knew[viewer], self._knew_of_others(step, viewer)
                if not set(knew[viewer]) <= set(before):
                    knows = "You know" if viewer == self.table.seat else f"{name} knows"
                    self._print(f"  {knows}: {', '.join(knew[viewer])}", style="dim")

    def _knew_of_others(self, step: JsonObject, viewer: int) -> list[str]:
        """The cards that lie face down at others, and that a seat knew at a step."""
        return [
            f"{'you' if seat == self.table.seat else self.table.names[seat]} {_symbol(card)}"
            for seat, card in enumerate(step["knew"][viewer])
            if card is not None and seat != viewer and not step["view"]["seats"][seat]["shown"]
        ]

    def _print(self, text: str, style: str = "") -> None:
        line = _coloured(text)
        line.stylize_before(style)
        self._console.print(line, soft_wrap=not self._console.is_terminal)


def _meant(typed: str, words: Sequence[str], *, default: bool) -> str | None:
    """The one word that starts as typed; None if there is none, or several."""
    if not typed:
        return words[0] if default else None
    if typed in words:
        return typed
    if typed == "?":
        return "help" if "help" in words else None
    meant = [word for word in words if word.startswith(typed)]
    return meant[0] if len(meant) == 1 else None


def _advice(advice: JsonObject) -> str:
    """What the coach says, in a line or two."""
    shares = ", ".join(f"{action} {share:.1%}" for action, share in advice["worth"].items())
    how = "exact" if advice["exact"] else _sampled(advice)
    if advice["clear"]:
        verdict = f"{advice['best']} was better by {100 * advice['cost']:.1f} points"
    else:
        verdict = "well chosen"
    return f"{advice['action']}, {verdict}. Win shares: {shares} ({how}). {advice['why']}"


def _sampled(advice: JsonObject) -> str:
    error, bot = 100 * advice["error"], advice["afterwards"]
    return f"sampled, ± {error:.1f} points, if you then play on as {bot} does"


def _choice(action: str, answer: JsonObject) -> str:
    """An action, and what is to be known of it before: with whom one would swap."""
    hint = answer["hints"].get(action)
    return action if hint is None else f"{action} {hint}"


def _symbol(card: str) -> str:
    return card_symbol(parse_card(card))


def _face(seat: JsonObject) -> str:
    if seat["card"] is not None:
        return _symbol(seat["card"])
    return "?" if seat["holds"] else "-"


def _notes(seat: int, view: JsonObject) -> str:
    each = view["seats"][seat]
    if not each["in"]:
        return "out"
    notes = [each["outcome"]] if each["outcome"] != OUTCOME_NAMES[WAITING] else []
    if seat == view["acts"]:
        notes.append("to act" if seat == view["turn"] else "to answer")
    if seat == view["dealer"]:
        notes.append("dealer")
    if each["shown"]:
        notes.append("shown")
    return ", ".join(notes)


def _coloured(text: str) -> Text:
    """The text with its red cards in red."""
    line = Text(text)
    for found in _CARD.finditer(text):
        line.stylize("bold red" if found[0][-1] in _RED else "bold", *found.span())
    return line
