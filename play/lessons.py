"""Lessons: prepared deals, told step by step from what really happens in them.

A lesson is data: scenes, each a position with chosen cards, what the learner chooses in it, and a few words
around it. Robin and Alex decide for themselves, as they do at the table, and the engine says what
comes of it: every step shows real events (:mod:`cuckoo_env.play.frames`), and what an answer would
have led to is played out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final

from cuckoo_env import agents
from cuckoo_env.events import story
from cuckoo_env.game import Game
from cuckoo_env.observation import Layout
from cuckoo_env.play.frames import JsonObject, frames, hints, view
from cuckoo_env.rules import Rules

RULES: Final = Rules.parse("practice-table")
LEARNER: Final = 0
NAMES: Final = ("You", "Robin", "Alex")
_SPECS: Final = (None, "robin", "alex")

_TOLD_TOGETHER: Final = {"round": "deal", "dealt": "deal", "revealed": "reveal"}
"""Events that follow each other and are told in one step."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A decision of the learner.

    Attributes:
        chooses: what is chosen, whatever the learner answers.
        says: what is said before it.
        answers: what is said to each answer; empty where the learner is not asked.
        then: what is said when it has happened.
    """

    chooses: str
    says: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)
    then: str = ""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A prepared deal.

    Attributes:
        opening: what is said when the cards are dealt.
        deal: the cards by seat, None for a seat that is out.
        stock: the top of the stock.
        next_deal: the cards of the deal after it, by seats still in, and its stock; where there are none the
            scene ends with the reveal.
        dealer: the seat that deals.
        lives: by seat.
        turns: the learner's decisions.
        closing: what is said at the end.
    """

    opening: str
    deal: tuple[str | None, ...]
    stock: str
    turns: tuple[Turn, ...]
    closing: str
    next_deal: tuple[str, ...] = ()
    dealer: int = 2
    lives: tuple[int, ...] = (3, 3, 3)


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A lesson: one idea, in one or two scenes."""

    title: str
    intro: str
    scenes: tuple[Scene, ...]


LESSONS: Final[Mapping[str, Lesson]] = MappingProxyType(
    {
        "swap": Lesson(
            title="A swap, and what comes back",
            intro="Give an ace away, and follow it round the table.",
            scenes=(
                Scene(
                    opening="Alex deals, so you begin; Robin comes next, and Alex last. You hold an ace, "
                    "the lowest card there is. What the others hold you cannot see.",
                    deal=("As", "9h", "Jc"),
                    stock="4d",
                    turns=(
                        Turn(
                            chooses="swap",
                            says="Your one turn in this round.",
                            answers={
                                "keep": "Nothing is lower than an ace, and a tie would not save you.",
                                "swap": "Nothing that comes back can be lower. But you have to ask "
                                "before you see it.",
                            },
                            then="You hold Robin's nine now, and Robin your ace: you two know it, Alex "
                            "does not. Robin was only made to swap, and still has a turn.",
                        ),
                    ),
                    closing="The ace went from you to Robin and on to Alex, who laid it away for a card "
                    "from the stock. Then the four was the lowest.",
                ),
                Scene(
                    opening="Now Robin deals: Alex begins, then it is you, and Robin is last. You hold a "
                    "jack.",
                    deal=("Jc", "9h", "3d"),
                    stock="6s",
                    dealer=1,
                    turns=(
                        Turn(
                            chooses="swap",
                            says="Alex asked, and you had to give your jack. That was Alex's turn; "
                            "yours is still to come, with the card you hold now.",
                            answers={
                                "keep": "With a three you would have to hope for Robin: Alex has your "
                                "jack, as you know.",
                                "swap": "Pass the three on, as Alex did.",
                            },
                        ),
                    ),
                    closing="A bad card that reaches you before your turn need not stay with you.",
                ),
            ),
        ),
        "king": Lesson(
            title="A king in the way",
            intro="Ask a king for a swap, then be asked while you hold one.",
            scenes=(
                Scene(
                    opening="Alex deals, and you begin. You hold a two.",
                    deal=("2s", "Kh", "8d"),
                    stock="5c",
                    turns=(
                        Turn(
                            chooses="swap",
                            says="Robin sits next to you in the order of play, and is the only one you "
                            "can ask.",
                            answers={
                                "keep": "Hardly anything is lower than a two.",
                                "swap": "It is worth trying with a two, even if it need not succeed.",
                            },
                            then="Everybody sees the king. You still hold the two, and your turn is "
                            "used up: there is no second try.",
                        ),
                    ),
                    closing="The try cost you nothing that the two had not lost already.",
                ),
                Scene(
                    opening="You deal now, so Robin begins, then Alex, and you are last. This time the "
                    "king is yours.",
                    deal=("Ks", "Qd", "4c"),
                    stock="Th",
                    dealer=0,
                    turns=(
                        Turn(
                            chooses="keep",
                            says="Alex asked you, and your king said no by itself: nobody asks you "
                            "whether to show it. Now it is your own turn.",
                            answers={
                                "keep": "No card is higher than the one you hold.",
                                "swap": "Nothing on the stock can be higher than a king.",
                            },
                        ),
                    ),
                    closing="Alex could not get rid of the four, because the next seat held a king.",
                ),
            ),
        ),
        "dealer": Lesson(
            title="The dealer and the stock",
            intro="Deal, act last, and try the top card of the stock, twice.",
            scenes=(
                Scene(
                    opening="You deal, so you are last. The dealer asks nobody, but may take the top card "
                    "of the stock. You hold a three.",
                    deal=("3h", "Td", "9c"),
                    stock="Kc",
                    dealer=0,
                    turns=(
                        Turn(
                            chooses="swap",
                            says="Robin and Alex have kept their cards, as they do with high ones.",
                            answers={
                                "keep": "Both of them kept: a three will hardly be enough.",
                                "swap": "Almost any card is better than a three.",
                            },
                            then="A king from the stock is not for you: it is laid aside, and you keep "
                            "your card. You get no other.",
                        ),
                    ),
                    closing="Bad luck: four cards in the pack do that.",
                ),
                Scene(
                    opening="The same deal again, but with another card on top of the stock.",
                    deal=("3h", "Td", "9c"),
                    stock="Js",
                    dealer=0,
                    turns=(
                        Turn(
                            chooses="swap",
                            says="Nothing has changed for you to see.",
                            answers={
                                "keep": "The three is as low as it was.",
                                "swap": "Another try with the same card.",
                            },
                            then="You laid the three away, face down. Only you know what you drew.",
                        ),
                    ),
                    closing="Nobody can take that card from you any more: the dealer is last.",
                ),
            ),
        ),
        "next-deal": Lesson(
            title="Out, and the next deal",
            intro="See a seat go out, the deal move on, and the round go past the empty seat.",
            scenes=(
                Scene(
                    opening="Robin has one life left; you and Alex have two. Alex deals, and you begin "
                    "with a queen.",
                    deal=("Qs", "8h", "Jd"),
                    stock="5d",
                    lives=(2, 1, 2),
                    next_deal=("6c", "Th", "Qh"),
                    turns=(
                        Turn(chooses="keep", says="A queen is worth keeping."),
                        Turn(
                            chooses="swap",
                            says="The deal has passed from Alex to you. Robin is out: no card, no turn. "
                            "So Alex began, and you are last.",
                            answers={
                                "keep": "Alex kept, and keeps only an eight or better.",
                                "swap": "Alex kept, so a six is probably lower.",
                            },
                        ),
                    ),
                    closing="To come through a round is not to win: play goes on until one seat alone has "
                    "a life.",
                ),
            ),
        ),
        "tie": Lesson(
            title="An ordinary tie",
            intro="Two equal cards, with a lower one at the table.",
            scenes=(
                Scene(
                    opening="You and Robin hold tens, though neither can see it. Alex holds something else.",
                    deal=("Tc", "Td", "9h"),
                    stock="2c",
                    turns=(Turn(chooses="keep", says="A ten is worth keeping."),),
                    closing="Equal cards do no harm while somebody's is lower: only the lowest counts.",
                ),
            ),
        ),
        "tie-for-lowest": Lesson(
            title="A tie for the lowest",
            intro="Two equal cards, and nothing below them.",
            scenes=(
                Scene(
                    opening="You and Robin hold eights, though neither can see it.",
                    deal=("8c", "8s", "Qh"),
                    stock="2c",
                    turns=(Turn(chooses="keep", says="An eight is worth keeping, mostly."),),
                    closing="Both of you lose a life. The suit saves nobody.",
                ),
            ),
        ),
        "last-lives": Lesson(
            title="Everybody's last life",
            intro="A tie that would leave nobody at the table, and one that leaves somebody.",
            scenes=(
                Scene(
                    opening="Everybody has one life left, and, though nobody knows, an eight.",
                    deal=("8c", "8d", "8h"),
                    stock="2c",
                    lives=(1, 1, 1),
                    next_deal=("Jc", "5d", "Qs", "9d"),
                    turns=(Turn(chooses="keep", says="An eight is worth keeping."),),
                    closing="Nobody has lost anything: the lives are as they were, and the next seat has "
                    "dealt again.",
                ),
                Scene(
                    opening="The same, but Alex holds a queen, and has two lives.",
                    deal=("8c", "8d", "Qh"),
                    stock="2c",
                    lives=(1, 1, 2),
                    turns=(Turn(chooses="keep", says="An eight is worth keeping."),),
                    closing="This time somebody is left, so it is a tie for the lowest like any other: "
                    "you and Robin are out, and Alex has won.",
                ),
            ),
        ),
    }
)
"""The lessons, by id, in the order in which they are offered."""


def lessons() -> list[JsonObject]:
    """What can be learned: ``id``, ``title`` and ``intro`` of every lesson, in order."""
    return [
        {"id": name, "title": each.title, "intro": each.intro} for name, each in LESSONS.items()
    ]


def lesson(name: str) -> JsonObject:
    """A lesson, step by step.

    Args:
        name: its id.

    Returns:
        ``id``, ``title``, ``intro``, ``players`` (``seat``, ``name``, ``agent``, ``you``) and ``steps``. A
        step is a frame (:func:`cuckoo_env.play.frames.frames`) of one event, or of several that are told
        together, or only a ``text`` with the ``view`` (its ``event`` is None). Where the learner is
        asked it also has ``ask``, the question, ``legal``, ``hints`` (:func:`cuckoo_env.play.frames.hints`)
        and ``answers``, what is said to each.

    Raises:
        ValueError: for a lesson that does not exist.

    Example:
        >>> steps = lesson("king")["steps"]
        >>> next(step["text"] for step in steps if step["event"] == "showed")
        'Robin shows K♥.'
    """
    if name not in LESSONS:
        raise ValueError(f"lesson: {name} is refused; accepted: {', '.join(LESSONS)}")
    told = LESSONS[name]
    return {
        "id": name,
        "title": told.title,
        "intro": told.intro,
        "players": [
            {"seat": seat, "name": called, "agent": spec, "you": seat == LEARNER}
            for seat, (called, spec) in enumerate(zip(NAMES, _SPECS, strict=True))
        ],
        "steps": [step for scene in told.scenes for step in _steps(scene)],
    }


def _steps(scene: Scene) -> Iterator[JsonObject]:
    """A scene from its deal to its end."""
    game, turns, more_deals = _dealt(scene), list(scene.turns), bool(scene.next_deal)
    *_, shown = frames(None, game, game.events, LEARNER, NAMES)
    shown = {**shown, "text": scene.opening}
    yield shown
    is_over = False
    while not is_over:
        turn = turns.pop(0) if game.seat == LEARNER else None
        if turn is not None:
            yield from _asked(game, turn)
        before, happened = game.copy(), game.act(_choice(game) if turn is None else turn.chooses)
        acted, revealed, dealt = _parts(frames(before, game, happened, LEARNER, NAMES))
        told = list(_together([*revealed, *dealt] if more_deals else revealed))
        yield from acted
        shown = (acted + told)[-1]
        if turn is not None and turn.then:
            yield _said(turn.then, acted[-1]["view"])
        yield from told
        is_over = bool(revealed) and not turns
        more_deals = more_deals and not dealt
    yield _said(scene.closing, shown["view"])


def _parts(told: list[JsonObject]) -> tuple[list[JsonObject], list[JsonObject], list[JsonObject]]:
    """What was done, what the reveal came to, and the next deal."""
    kinds = [frame["event"] for frame in told]
    deal = kinds.index("round") if "round" in kinds else len(kinds)
    reveal = kinds.index("revealed") if "revealed" in kinds else deal
    return told[:reveal], told[reveal:deal], told[deal:]


def _dealt(scene: Scene) -> Game:
    return Game.from_position(
        RULES,
        dealer=scene.dealer,
        lives=scene.lives,
        deal=scene.deal,
        stock=scene.stock,
        cuts=scene.next_deal,
        seed=0,
    )


def _asked(game: Game, turn: Turn) -> Iterator[JsonObject]:
    """What is said before a decision, and the question if there is one."""
    now = view(game, LEARNER)
    if not turn.answers:
        if turn.says:
            yield _said(turn.says, now)
        return
    legal = game.legal_actions()
    yield {
        **_said(turn.says, now),
        "ask": f"{' or '.join(legal).capitalize()}?",
        "legal": list(legal),
        "hints": hints(game, NAMES),
        "answers": {
            action: f"{turn.answers[action]} Played out: {_played_out(game, action)}"
            for action in legal
        },
    }


def _played_out(game: Game, action: str) -> str:
    """How the round ends after an action of the learner: what it reveals, and who loses a life."""
    game = game.copy()
    happened = list(game.act(action))
    while not any(event.event == "revealed" for event in happened):
        happened += game.act(_choice(game))
    ends = [
        event
        for event in happened
        if event.event == "lost" or (event.event == "revealed" and event.seat == LEARNER)
    ]
    return " ".join(story(ends, LEARNER, NAMES))


def _choice(game: Game) -> int:
    """What Robin or Alex does, who is to act."""
    assert game.seat is not None
    observation, mask = game.observe(game.seat)
    agent = agents.parse(_SPECS[game.seat] or "", RULES)
    chances = agent.probabilities(observation[None], mask[None], Layout.of(RULES))
    return int(chances[0].argmax())


def _together(told: Sequence[JsonObject]) -> Iterator[JsonObject]:
    """The frames, those that are told together as one."""
    for _, group in groupby(told, lambda each: _TOLD_TOGETHER.get(each["event"], id(each))):
        several = list(group)
        yield {**several[-1], "text": " ".join(each["text"] for each in several)}


def _said(text: str, now: JsonObject) -> JsonObject:
    """A step in which nothing happens."""
    nothing: dict[str, Any] = dict.fromkeys(
        ("event", "seat", "other", "count", "card", "other_card", "why")
    )
    return {**nothing, "text": text, "stands": True, "view": now}
