"""The rules of Cuckoo, compiled. This is the only file that knows what a king does.

A *game* is one record of a structured array (:func:`game_dtype`); many games are an array, a single game
is an array of one. A *rule set* is one record of :data:`RULES` made by :func:`compile_rules`; every game
says in ``rules`` which row it plays by, so games of different rule sets can share an array. All compiled
functions take the game's record ``g`` and its rules' record ``r`` and change ``g`` in place::

    new_game ── deal ──> phase TURN ──KEEP/SWAP──> ask ──> phase RESPONSE ──ACCEPT/SHOW/PAY──┐
                  ^            ^                     └───────────────┬────────────────────────┘
                  │            └───────── next turn ─────── finish_turn
                  └── next round ── settle ── reveal ────────────────┘──> phase OVER

Chance is drawn from the generator inside the game, or from its ``script`` while that lasts: cards that are
handed out instead, in the order in which chance would have drawn them.

Seats are absolute here; "left" is the next seat in the direction of play. Fields are read through ``int()``
before arithmetic, so that the uncompiled functions (``NUMBA_DISABLE_JIT=1``) count as the compiled ones do.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuckoo_env.cards import JACK, KING, N_RANKS, PACK, QUEEN, UNKNOWN
from cuckoo_env.compiled import entry, helper, routine
from cuckoo_env.rules import (
    Ace,
    Dealer,
    Direction,
    FinalTie,
    FirstDealer,
    Jack,
    King,
    Length,
    Pairs,
    Penalty,
    Queen,
    Refusal,
    Rules,
    SwappedTurn,
    Ties,
)

# Actions, in the order of the action mask.
KEEP: Final = 0
SWAP: Final = 1
ACCEPT: Final = 2
SHOW: Final = 3
PAY: Final = 4
ACTION_NAMES: Final = ("keep", "swap", "accept", "show", "pay")
N_ACTIONS: Final = len(ACTION_NAMES)

# Phases.
TURN: Final = 0
RESPONSE: Final = 1
OVER: Final = 2

# How a game ended.
RUNNING: Final = 0
WON: Final = 1
UNDECIDED: Final = 2
"""A single round in which nobody, or everybody, lost a life: there are no winners."""
TRUNCATED: Final = 3

# What became of a seat's turn in this round. RE_… are the same after a queen sent the asker on.
WAITING: Final = 0
KEPT: Final = 1
LOST_TURN: Final = 2
ASKED: Final = 3
SWAPPED: Final = 4
BLOCKED: Final = 5
REFUSED: Final = 6
RE_ASKED: Final = 7
RE_SWAPPED: Final = 8
RE_BLOCKED: Final = 9
RE_REFUSED: Final = 10
TWO_QUEENS: Final = 11
DREW: Final = 12
STOCK_BLOCKED: Final = 13
OUTCOME_NAMES: Final = (
    "waiting", "kept", "lost its turn", "asked", "swapped", "was blocked", "was refused for a token",
    "was sent on and asked", "was sent on and swapped", "was sent on and blocked",
    "was sent on and refused for a token", "met two queens", "drew from the stock",
    "was blocked by the stock",
)  # fmt: skip
_REDIRECTED: Final = RE_ASKED - ASKED

# What a rank can do, as bits.
BLOCKS: Final = 1
MAY_BLOCK: Final = 2
REDIRECTS: Final = 4
BLOCKS_ON_STOCK: Final = 8
ENDS_TRADING: Final = 16
TURNED_UP: Final = 32
STOPS_DEAL: Final = 64
MAY_ONLY_KEEP: Final = 128

# Events; what each field means, and who may see the cards, is told in `cuckoo_env.events`.
E_DEALER_CUT: Final = 0
E_ROUND: Final = 1
E_DEALT: Final = 2
E_TURNED_UP: Final = 3
E_NO_TRADING: Final = 4
E_KEPT: Final = 5
E_ASKED: Final = 6
E_SHOWED: Final = 7
E_PAID: Final = 8
E_SWAPPED: Final = 9
E_DREW: Final = 10
E_STOCK_SHOWED: Final = 11
E_SKIPPED: Final = 12
E_REVEALED: Final = 13
E_LOST: Final = 14
E_FINAL_TIE: Final = 15
E_FINAL_CUT: Final = 16
E_CARRIED: Final = 17
E_OUT: Final = 18
E_WON: Final = 19
E_TRUNCATED: Final = 20
E_MISDEALT: Final = 21
EVENT_WIDTH: Final = 5
"""An event row: kind, seat, other seat (or a number), card, other card; -1 where there is none."""

BY_LOT: Final = -1
BY_CUT: Final = -2
NOBODY: Final = -1
NO_CARD: Final = -1

_FIRST_DEALERS: Final = {FirstDealer.LOT: BY_LOT, FirstDealer.CUT: BY_CUT}
_JOINT, _REPLAY, _CUT, _CARRY_STAKE, _CARRY = range(5)
_FINAL_TIES: Final = {
    FinalTie.JOINT: _JOINT,
    FinalTie.REPLAY: _REPLAY,
    FinalTie.CUT: _CUT,
    FinalTie.CARRY_STAKE: _CARRY_STAKE,
    FinalTie.CARRY: _CARRY,
}


def record_type(fields: list[tuple[Any, ...]]) -> np.dtype[np.void]:
    """A record type whose items have attributes also outside compiled code.

    The arrays themselves are plain ndarrays: Numba recognises those in half a microsecond, and takes eight
    times as long over a recarray.
    """
    return np.dtype((np.record, np.dtype(fields, align=True)))


RULES: Final = record_type(
    [
        ("seats", "i4"),
        ("lives", "i4"),
        ("decks", "i4"),
        ("step", "i4"),  # +1 or -1: from a seat to its left neighbour
        ("first_dealer", "i4"),  # a seat, BY_LOT or BY_CUT
        ("max_rounds", "i4"),  # 0: no limit
        ("stake", "f8"),
        ("a_life", "f8"),  # 1 / lives
        ("strength", "i1", (N_RANKS + 1,)),  # by rank, 0 is the weakest
        ("power", "u1", (N_RANKS + 1,)),  # by rank
        ("responds", "i1"),  # asked seats get a turn to respond
        ("fee", "i1"),
        ("shared_penalty", "i1"),
        ("pairs_safe", "i1"),
        ("first_pays", "i1"),
        ("lost_turns", "i1"),
        ("rotation", "i1"),
        ("one_round", "i1"),
        ("final_tie", "i1"),
    ]
)
"""A compiled rule set: everything the engine asks about the rules."""

CAPACITIES: Final = (4, 10, 26, 60)
"""Seats for which record types exist (each is compiled once); beyond these the capacity doubles."""


def capacity_for(seats: int) -> int:
    """The smallest capacity that seats so many."""
    for capacity in CAPACITIES:
        if seats <= capacity:
            return capacity
    capacity = CAPACITIES[-1]
    while capacity < seats:
        capacity *= 2
    return capacity


@functools.cache
def game_dtype(capacity: int, *, recording: bool) -> np.dtype[np.void]:
    """The record of one game at a table of up to ``capacity`` seats.

    With ``recording`` the record holds the events of the last step and a script for chance; without, it
    is small (under 500 bytes at 10 seats), for large batches.
    """
    # The most that one step tells: the turn, the reveal, a dozen sub-cuts, and the next deal.
    events = 24 + 18 * capacity if recording else 1
    script = 4 + 14 * capacity if recording else 1
    return record_type(
        [
            ("rng", "u4", (2,)),
            ("rules", "i4"),
            ("rounds", "i4"),  # completed rounds
            ("dealer", "i2"),
            ("turn", "i2"),  # whose turn it is
            ("seat", "i2"),  # who acts: the turn's seat, or the one it asks; NOBODY when over
            ("asked", "i2"),  # who is being asked, in a response
            ("phase", "i1"),
            ("result", "i1"),
            ("top", "i1"),  # the stock's top card: hidden
            ("stock", "i1"),  # the card shown from the stock, if any
            ("redirected", "i1"),  # a queen sent the asker on
            ("trading", "i1"),
            ("card", "i1", (capacity,)),
            ("outcome", "i1", (capacity,)),
            ("swapped", "i1", (capacity,)),  # was made to swap in this round
            ("shown", "i1", (capacity,)),  # the card now held lies open for all
            ("won", "i1", (capacity,)),
            ("cut", "i1", (capacity,)),
            ("cutting", "i1", (capacity,)),
            ("lives", "i4", (capacity,)),
            ("before", "i4", (capacity,)),  # lives at the start of the game
            ("lost", "i4", (capacity,)),  # lives lost at the last reveal
            ("staked", "i4", (capacity,)),  # stakes paid into the pot
            ("payoff", "f8", (capacity,)),
            # known[seat, viewer]: the rank that the viewer knows the seat to hold
            ("known", "i1", (capacity, capacity)),
            ("n_events", "i4"),
            ("event", "i2", (events, EVENT_WIDTH)),
            ("script_at", "i4"),
            ("script_end", "i4"),
            ("script", "i1", (script,)),
        ]
    )


def new_games(games: int, seats: int, *, recording: bool) -> npt.NDArray[np.void]:
    """An array of games, all zero: start each with :func:`start` or :func:`start_at`."""
    return np.zeros(games, game_dtype(capacity_for(seats), recording=recording))


def _powers(rules: Rules) -> npt.NDArray[np.uint8]:
    """What each rank can do under these rules: the one place where the court cards get their powers."""
    power = np.zeros(N_RANKS + 1, np.uint8)
    # With a fee on the table every show is a choice.
    shown = MAY_BLOCK if rules.refusal is Refusal.FEE else BLOCKS
    power[KING] = {
        King.BLOCKS: BLOCKS_ON_STOCK | shown,
        King.PLAIN: 0,
        King.ENDS_TRADING: BLOCKS_ON_STOCK | shown | ENDS_TRADING,
        King.STOPS_DEAL: BLOCKS_ON_STOCK | TURNED_UP | STOPS_DEAL,
        King.OPEN: BLOCKS_ON_STOCK | TURNED_UP | BLOCKS | MAY_ONLY_KEEP,
    }[rules.king]
    if rules.queen is Queen.REDIRECTS:
        power[QUEEN] = REDIRECTS
    power[JACK] = {Jack.PLAIN: 0, Jack.BLOCKS: shown, Jack.MAY_BLOCK: MAY_BLOCK}[rules.jack]
    return power


def _strengths(rules: Rules) -> npt.NDArray[np.int8]:
    """Ranks in order, the weakest 0: with the ace high, the two is 0 and the ace 12; above all is no card."""
    order = np.arange(-1, N_RANKS)
    order[0] = N_RANKS
    if rules.ace is Ace.HIGH:
        order[1:] = (order[1:] - 1) % N_RANKS
    return order.astype(np.int8)


def compile_rules(rules: Rules) -> npt.NDArray[np.void]:
    """The rule set as an array of one :data:`RULES` record."""
    row = np.zeros(1, RULES)
    dealer = rules.first_dealer
    row["seats"], row["lives"], row["decks"] = rules.seats, rules.lives, rules.decks
    row["step"] = 1 if rules.direction is Direction.LEFT else -1
    row["first_dealer"] = _FIRST_DEALERS[dealer] if isinstance(dealer, FirstDealer) else dealer
    row["max_rounds"] = rules.max_rounds or 0
    row["stake"], row["a_life"] = rules.stake, 1 / rules.lives
    row["strength"], row["power"] = _strengths(rules), _powers(rules)
    row["responds"] = rules.has_responses
    row["fee"] = rules.refusal is Refusal.FEE
    row["shared_penalty"] = rules.penalty is Penalty.SHARED
    row["pairs_safe"] = rules.pairs is Pairs.SAFE
    row["first_pays"] = rules.ties is Ties.FIRST
    row["lost_turns"] = rules.swapped_turn is SwappedTurn.LOST
    row["rotation"] = rules.dealer is Dealer.ROTATION
    row["one_round"] = rules.game is Length.ROUND
    row["final_tie"] = _FINAL_TIES[rules.final_tie]
    return row


# ---------------------------------------------------------------------------------------------------
# Chance

_MASK32: Final = np.uint64(0xFFFFFFFF)
_MULTIPLIER: Final = np.uint64(0x9E3779BB)
_FIVE: Final = np.uint64(5)


@helper
def _rotate(x: Any, left: Any, right: Any) -> Any:
    """A 32-bit word, held in 64 bits, rotated left (``right`` is 32 less ``left``)."""
    return ((x << left) | (x >> right)) & _MASK32


@helper
def random_word(rng: Any) -> Any:
    """The next 32 random bits of a generator of two 32-bit words.

    xoroshiro64** of Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021:
    period 2**64 - 1, and every product fits in 64 bits, so nothing overflows uncompiled.
    """
    s0, s1 = np.uint64(rng[0]), np.uint64(rng[1])
    product = (s0 * _MULTIPLIER) & _MASK32
    word = (_rotate(product, _FIVE, np.uint64(27)) * _FIVE) & _MASK32
    s1 = s1 ^ s0
    rng[0] = np.uint32(
        _rotate(s0, np.uint64(26), np.uint64(6)) ^ s1 ^ ((s1 << np.uint64(9)) & _MASK32)
    )
    rng[1] = np.uint32(_rotate(s1, np.uint64(13), np.uint64(19)))
    return word


@helper
def random_below(rng: Any, n: int) -> int:
    """A whole number from 0 to n - 1, each equally likely (Lemire 2019: multiply, reject, shift)."""
    bound = np.uint64(n)
    product = random_word(rng) * bound
    low = product & _MASK32
    if low < bound:
        reject_below = (np.uint64(0x100000000) - bound) % bound
        while low < reject_below:
            product = random_word(rng) * bound
            low = product & _MASK32
    # Signed: Numba turns sums of signed and unsigned numbers into floats.
    return np.int64(product >> np.uint64(32))  # type: ignore[return-value]


@helper
def _scripted(g: Any) -> bool:
    """Whether chance still has a script to follow."""
    return int(g.script_at) < int(g.script_end)


@helper
def _from_script(g: Any) -> int:
    card = int(g.script[int(g.script_at)])
    g.script_at = int(g.script_at) + 1
    return card


@helper
def _draw(g: Any, r: Any, drawn: Any, seats: int) -> int:
    """A card from shuffled packs, of which those in ``drawn[:seats]`` are already gone."""
    if g.script.shape[0] > 1 and _scripted(g):
        return _from_script(g)
    while True:
        card, copy, gone = random_below(g.rng, PACK), 0, 0
        if int(r.decks) > 1:
            copy = random_below(g.rng, int(r.decks))
        for seat in range(seats):
            gone += int(int(drawn[seat]) == card)
        # Of a card's copies the first `gone` are those already drawn.
        if copy >= gone:
            return card


# ---------------------------------------------------------------------------------------------------
# Words of the rulebook
#
# What is asked most often indexes with unsigned numbers: signed ones are checked for counting from the end.

SUIT_BITS: Final = 2
"""The four suits take the low bits of a card: a shift is cheaper than a checked division."""


@helper
def rank_of_card(card: int) -> int:
    """The rank, 1 to 13, of a card."""
    return (card >> SUIT_BITS) + 1


@helper
def rank_of(g: Any, seat: int) -> int:
    """The rank that a seat holds."""
    return rank_of_card(int(g.card[np.uint64(seat)]))


@helper
def can(r: Any, rank: int, power: int) -> bool:
    """Whether a rank has a power under these rules."""
    return (int(r.power[np.uint64(rank)]) & power) != 0


@helper
def is_in(g: Any, seat: int) -> bool:
    """Whether a seat still plays: at zero lives it is out."""
    return int(g.lives[np.uint64(seat)]) > 0


@helper
def round_the_table(seat: int, seats: int) -> int:
    """The seat that a number means which counts on past the last seat, or back past the first, at most once.

    Without branches, which would be guessed wrong at a table with few seats.
    """
    seat += seats & (seat >> 63)
    seat -= seats
    return seat + (seats & (seat >> 63))


@helper
def _next_in(g: Any, r: Any, seat: int, step: int) -> int:
    seat = round_the_table(seat + step, int(r.seats))
    while not is_in(g, seat):
        seat = round_the_table(seat + step, int(r.seats))
    return seat


@helper
def left_of(g: Any, r: Any, seat: int) -> int:
    """The nearest seat still in, in the direction of play: out seats are skipped everywhere."""
    return _next_in(g, r, seat, int(r.step))


@helper
def right_of(g: Any, r: Any, seat: int) -> int:
    """The nearest seat still in, against the direction of play."""
    return _next_in(g, r, seat, -int(r.step))


@helper
def tell(g: Any, kind: int, seat: int, other: int, card: int, other_card: int) -> None:
    """Add an event to the story of this step."""
    if g.event.shape[0] > 1:
        at = int(g.n_events)
        g.n_events = at + 1
        if at < g.event.shape[0]:
            g.event[at, 0] = kind
            g.event[at, 1] = seat
            g.event[at, 2] = other
            g.event[at, 3] = card
            g.event[at, 4] = other_card


# ---------------------------------------------------------------------------------------------------
# The deal


@routine
def begin_game(g: Any, r: Any) -> None:
    """Every seat pays its stake and takes its lives; the first dealer is found; cards are dealt."""
    for seat in range(int(r.seats)):
        g.lives[seat] = r.lives
        g.before[seat] = r.lives
        g.staked[seat] = 1
    g.dealer = _first_dealer(g, r)
    begin_play(g, r)


@helper
def begin_play(g: Any, r: Any) -> None:
    """Deal the first round to the seats that have lives."""
    g.rounds = 0
    g.result = RUNNING
    for seat in range(int(r.seats)):
        g.won[seat] = False
        g.payoff[seat] = 0.0
        g.lost[seat] = 0
    deal(g, r)


@helper
def _first_dealer(g: Any, r: Any) -> int:
    if int(r.first_dealer) == BY_LOT:
        return random_below(g.rng, int(r.seats))
    if int(r.first_dealer) == BY_CUT:
        return _cut_for_high(g, r, E_DEALER_CUT)
    return int(r.first_dealer)


@routine
def _cut_for_high(g: Any, r: Any, kind: int) -> int:
    """Each seat in draws from a full set of packs; the highest wins, equal highest cut again."""
    for seat in range(int(r.seats)):
        g.cutting[seat] = is_in(g, seat)
    while True:
        best, ties, winner = -1, 0, NOBODY
        _cut_once(g, r, kind)
        for seat in range(int(r.seats)):
            if g.cutting[seat]:
                strength = int(r.strength[rank_of_card(int(g.cut[seat]))])
                if strength > best:
                    best, ties, winner = strength, 0, seat
                ties += int(strength == best)
        if ties == 1:
            return winner
        for seat in range(int(r.seats)):
            if g.cutting[seat]:
                g.cutting[seat] = int(r.strength[rank_of_card(int(g.cut[seat]))]) == best


@helper
def _cut_once(g: Any, r: Any, kind: int) -> None:
    for seat in range(int(r.seats)):
        g.cut[seat] = NO_CARD
        if g.cutting[seat]:
            g.cut[seat] = _draw(g, r, g.cut, seat)
            tell(g, kind, seat, NOBODY, int(g.cut[seat]), NO_CARD)


@helper
def deal(g: Any, r: Any) -> None:
    """Shuffle, give every seat still in one private card, and open the first turn."""
    tell(g, E_ROUND, int(g.dealer), NOBODY, NO_CARD, NO_CARD)
    _clear_table(g)
    for seat in range(int(r.seats)):
        if is_in(g, seat):
            card = _draw(g, r, g.card, seat)
            g.card[seat] = card
            g.known[seat, seat] = rank_of_card(card)
            tell(g, E_DEALT, seat, NOBODY, card, NO_CARD)
    g.top = _draw(g, r, g.card, int(r.seats))
    _turn_up_kings(g, r)
    _give_turn(g, left_of(g, r, int(g.dealer)))


@helper
def _clear_table(g: Any) -> None:
    """Nothing of the last deal is left: neither cards nor what anybody knew."""
    g.stock = NO_CARD
    g.trading = 1
    g.redirected = False
    g.asked = NOBODY
    # All the seats there is room for: with a fixed length this compiles to a few wide stores.
    capacity = g.card.shape[0]
    for seat in range(capacity):
        g.card[seat] = NO_CARD
        g.outcome[seat] = WAITING
        g.swapped[seat] = False
        g.shown[seat] = False
    for seat in range(capacity):
        for viewer in range(capacity):
            g.known[seat, viewer] = UNKNOWN


@helper
def _turn_up_kings(g: Any, r: Any) -> None:
    """Where dealt kings are turned up, do so; they may stop all trading on this deal."""
    if not can(r, KING, TURNED_UP):
        return
    stopped = False
    for seat in range(int(r.seats)):
        if is_in(g, seat) and rank_of(g, seat) == KING:
            _lay_open(g, r, seat)
            tell(g, E_TURNED_UP, seat, NOBODY, int(g.card[seat]), NO_CARD)
            stopped = can(r, KING, STOPS_DEAL)
    if stopped:
        _end_trading(g)


@helper
def _lay_open(g: Any, r: Any, seat: int) -> None:
    """Everybody sees the card that a seat holds."""
    g.shown[seat] = True
    rank = rank_of(g, seat)
    for viewer in range(int(r.seats)):
        g.known[seat, viewer] = rank


@helper
def _end_trading(g: Any) -> None:
    g.trading = 0
    tell(g, E_NO_TRADING, NOBODY, NOBODY, NO_CARD, NO_CARD)


# ---------------------------------------------------------------------------------------------------
# Turns


@helper
def _give_turn(g: Any, seat: int) -> None:
    g.phase = TURN
    g.turn = seat
    g.seat = seat


@helper
def _next_turn(g: Any, r: Any) -> int:
    """The next seat to have a turn, or NOBODY: after the dealer, and when trading has just ended."""
    seat = int(g.turn)
    if not g.trading and int(g.outcome[np.uint64(seat)]) != KEPT:
        return NOBODY
    while seat != int(g.dealer):
        seat = left_of(g, r, seat)
        if not (r.lost_turns and g.swapped[seat]):
            return seat
        # Where a swap takes the turn away, those made to swap are skipped.
        g.outcome[seat] = LOST_TURN
        tell(g, E_SKIPPED, seat, NOBODY, NO_CARD, NO_CARD)
    return NOBODY


@helper
def legal_actions(g: Any, r: Any) -> int:
    """The legal actions of the seat to act, as bits ``1 << action``; 0 when the game is over."""
    if int(g.phase) == TURN:
        return 1 << KEEP | int(_may_ask(g, r, int(g.turn))) << SWAP
    if int(g.phase) == RESPONSE:
        return (
            1 << ACCEPT
            | int(can(r, rank_of(g, int(g.seat)), MAY_BLOCK)) << SHOW
            | int(_may_pay(g, r, int(g.seat))) << PAY
        )
    return 0


@helper
def _may_ask(g: Any, r: Any, seat: int) -> bool:
    """Whether a seat may do anything but keep."""
    if not g.trading or can(r, rank_of(g, seat), MAY_ONLY_KEEP):
        return False
    # The dealer who was made to swap may not ask the first seat.
    return not (r.rotation and seat == int(g.dealer) and g.swapped[seat])


@helper
def _may_pay(g: Any, r: Any, seat: int) -> bool:
    """A refusal costs a token, and nobody may pay the last one."""
    return bool(r.fee) and int(g.lives[seat]) >= 2


@routine
def apply(g: Any, r: Any, action: int) -> None:
    """The seat to act takes a legal action; everything that follows without a choice happens too."""
    if int(g.phase) == TURN:
        _take_turn(g, r, action)
    else:
        _respond(g, r, action)
    if int(g.phase) == TURN:
        _finish_turn(g, r)


@helper
def _take_turn(g: Any, r: Any, action: int) -> None:
    seat = int(g.turn)
    if action == KEEP:
        g.outcome[np.uint64(seat)] = KEPT
        tell(g, E_KEPT, seat, NOBODY, NO_CARD, NO_CARD)
    elif seat == int(g.dealer) and not r.rotation:
        _try_stock(g, r)
    else:
        _ask_left(g, r)


@helper
def _finish_turn(g: Any, r: Any) -> None:
    """On to the next seat, or to the reveal."""
    g.redirected = False
    g.asked = NOBODY
    seat = _next_turn(g, r)
    if seat == NOBODY:
        reveal(g, r)
    else:
        _give_turn(g, seat)


@helper
def _try_stock(g: Any, r: Any) -> None:
    """The dealer turns the top of the stock: a king there may block, a queen there may send him on."""
    dealer, card = int(g.dealer), int(g.top)
    rank = rank_of_card(card)
    if can(r, rank, BLOCKS_ON_STOCK):
        _show_stock(g, dealer, card)
        g.outcome[dealer] = STOCK_BLOCKED
    elif can(r, rank, REDIRECTS):
        _show_stock(g, dealer, card)
        _ask_right(g, r)
    else:
        _take_stock(g, dealer, card)


@helper
def _show_stock(g: Any, dealer: int, card: int) -> None:
    g.stock = card
    tell(g, E_STOCK_SHOWED, dealer, NOBODY, card, NO_CARD)


@helper
def _take_stock(g: Any, dealer: int, card: int) -> None:
    """The dealer's old card goes face down to the discard; only he knows the new one."""
    g.card[dealer] = card
    g.shown[dealer] = False
    # All there is room for, here and below: with a fixed length this compiles to one wide store.
    for viewer in range(g.known.shape[1]):
        g.known[dealer, viewer] = UNKNOWN
    g.known[dealer, dealer] = rank_of_card(card)
    g.outcome[dealer] = DREW
    tell(g, E_DREW, dealer, NOBODY, card, NO_CARD)


# ---------------------------------------------------------------------------------------------------
# Asking


@helper
def _ask_left(g: Any, r: Any) -> None:
    """The seat whose turn it is asks its left neighbour; a queen there may send it to its right."""
    asker = int(g.turn)
    left = left_of(g, r, asker)
    _announce_request(g, left)
    if not can(r, rank_of(g, left), REDIRECTS):
        _answer_or_wait(g, r)
        return
    _show(g, r, left)
    if right_of(g, r, asker) == left:
        # With two seats in, the other side is the same seat, which holds the queen.
        g.outcome[asker] = TWO_QUEENS
    else:
        _ask_right(g, r)


@routine
def _ask_right(g: Any, r: Any) -> None:
    """Sent on by a queen, the asker must ask its right neighbour; a second queen there ends it."""
    asker = int(g.turn)
    right = right_of(g, r, asker)
    g.redirected = True
    _announce_request(g, right)
    if can(r, rank_of(g, right), REDIRECTS):
        _show(g, r, right)
        g.outcome[asker] = TWO_QUEENS
    else:
        _answer_or_wait(g, r)


@helper
def _announce_request(g: Any, asked: int) -> None:
    g.asked = asked
    tell(g, E_ASKED, int(g.turn), asked, NO_CARD, NO_CARD)


@helper
def _answer_or_wait(g: Any, r: Any) -> None:
    """A card that blocks by force does so; else the asked seat responds where the rules give a choice."""
    asked = int(g.asked)
    if can(r, rank_of(g, asked), BLOCKS):
        _block(g, r)
    elif r.responds:
        # Every seat that is asked gets this turn, or the turn order would tell who holds what.
        _set_outcome(g, ASKED)
        g.phase = RESPONSE
        g.seat = asked
    else:
        _exchange(g)


@helper
def _respond(g: Any, r: Any, action: int) -> None:
    g.phase = TURN
    if action == ACCEPT:
        _exchange(g)
    elif action == SHOW:
        _block(g, r)
    else:
        _refuse_for_a_token(g)


@helper
def _set_outcome(g: Any, outcome: int) -> None:
    """Note what became of this turn's request, and whether it was the one after a queen."""
    g.outcome[np.uint64(g.turn)] = outcome + (_REDIRECTED if g.redirected else 0)


@helper
def _show(g: Any, r: Any, seat: int) -> None:
    _lay_open(g, r, seat)
    tell(g, E_SHOWED, seat, NOBODY, int(g.card[seat]), NO_CARD)


@helper
def _block(g: Any, r: Any) -> None:
    """The asked seat shows its card, and both keep what they have."""
    asked = int(g.asked)
    _show(g, r, asked)
    _set_outcome(g, BLOCKED)
    if can(r, rank_of(g, asked), ENDS_TRADING):
        _end_trading(g)


@helper
def _refuse_for_a_token(g: Any) -> None:
    """The asked seat pays one token to the centre and keeps its card unseen."""
    asked = int(g.asked)
    g.lives[asked] = int(g.lives[asked]) - 1
    _set_outcome(g, REFUSED)
    tell(g, E_PAID, asked, NOBODY, NO_CARD, NO_CARD)


@helper
def _exchange(g: Any) -> None:
    """The two seats swap cards; each still knows the card it gave, and others what they knew of either."""
    asker, asked = int(g.turn), int(g.asked)
    mine, yours = int(g.card[asker]), int(g.card[asked])
    g.card[asker], g.card[asked] = yours, mine
    shown = bool(g.shown[asker])
    g.shown[asker] = g.shown[asked]
    g.shown[asked] = shown
    for viewer in range(g.known.shape[1]):
        known = int(g.known[asker, viewer])
        g.known[asker, viewer] = g.known[asked, viewer]
        g.known[asked, viewer] = known
    for viewer in (asker, asked):
        g.known[asker, viewer] = rank_of_card(yours)
        g.known[asked, viewer] = rank_of_card(mine)
    g.swapped[asked] = True
    _set_outcome(g, SWAPPED)
    tell(g, E_SWAPPED, asker, asked, yours, mine)


# ---------------------------------------------------------------------------------------------------
# The reveal


@helper
def reveal(g: Any, r: Any) -> None:
    """Everyone reveals, the lowest lose lives, and the game ends or the deal moves on."""
    for seat in range(int(r.seats)):
        if is_in(g, seat):
            tell(g, E_REVEALED, seat, NOBODY, int(g.card[seat]), NO_CARD)
    _find_losses(g, r)
    _tell_losses(g, r)
    g.rounds = int(g.rounds) + 1
    staying = _how_many_stay(g, r)
    if r.one_round:
        _settle_round(g, r)
    elif staying == 0:
        _settle_final_tie(g, r)
    else:
        _take_lives(g, r)
        if staying == 1:
            _win_alone(g, r)
    if int(g.result) == RUNNING and 0 < int(r.max_rounds) <= int(g.rounds):
        g.result = TRUNCATED
        tell(g, E_TRUNCATED, NOBODY, NOBODY, NO_CARD, NO_CARD)
    if int(g.result) == RUNNING:
        # The deal passes to the left: after a carried game, among all the original seats.
        g.dealer = left_of(g, r, int(g.dealer))
        deal(g, r)
    else:
        _close(g, r)


@helper
def _find_losses(g: Any, r: Any) -> None:
    """Note what each of the lowest loses: never more than the lives it holds."""
    lowest = _losing_strength(g, r)
    toll = max(_holders(g, r, lowest), 2) if r.shared_penalty else 1
    # Without branches, which would be guessed wrong too often.
    for seat in range(int(r.seats)):
        g.lost[seat] = _holds(g, r, seat, lowest) * min(toll, int(g.lives[seat]))
    if r.first_pays and _holders(g, r, lowest) > 1:
        _spare_all_but_the_first(g, r)


@helper
def _holders(g: Any, r: Any, strength: int) -> int:
    """How many seats hold a card of this strength; no seat that is out does."""
    holders = 0
    for seat in range(int(r.seats)):
        holders += _holds(g, r, seat, strength)
    return holders


@routine
def _spare_all_but_the_first(g: Any, r: Any) -> None:
    first = left_of(g, r, int(g.dealer))
    while int(g.lost[first]) == 0:
        first = left_of(g, r, first)
    for seat in range(int(r.seats)):
        if seat != first:
            g.lost[seat] = 0


@helper
def _holds(g: Any, r: Any, seat: int, strength: int) -> int:
    """1 for a seat that holds a card of this strength, 0 for all others."""
    return int(_strength(g, r, seat) == strength)


@helper
def _strength(g: Any, r: Any, seat: int) -> int:
    """How strong the card is that a seat holds; a seat that is out holds none, which is above all."""
    return int(r.strength[np.uint64(rank_of(g, seat))])


@helper
def _losing_strength(g: Any, r: Any) -> int:
    """The lowest strength held, or where pairs are safe the lowest held exactly once; -1 if none."""
    if r.pairs_safe:
        return _lowest_held_once(g, r)
    lowest = N_RANKS
    for seat in range(int(r.seats)):
        lowest = min(lowest, _strength(g, r, seat))
    return lowest


@routine
def _lowest_held_once(g: Any, r: Any) -> int:
    once, again = 0, 0
    for seat in range(int(r.seats)):
        bit = 1 << _strength(g, r, seat)
        again |= once & bit
        once |= bit
    for strength in range(N_RANKS):
        if (once & ~again) >> strength & 1:
            return strength
    return -1


@helper
def _how_many_stay(g: Any, r: Any) -> int:
    """How many seats have a life left when they have paid what they lost."""
    staying = 0
    for seat in range(int(r.seats)):
        staying += int(int(g.lost[seat]) < int(g.lives[seat]))
    return staying


@helper
def _tell_losses(g: Any, r: Any) -> None:
    for seat in range(int(r.seats)):
        if int(g.lost[seat]) > 0:
            tell(g, E_LOST, seat, int(g.lost[seat]), NO_CARD, NO_CARD)


@helper
def _pay_losses(g: Any, r: Any) -> None:
    for seat in range(int(r.seats)):
        g.lives[seat] = int(g.lives[seat]) - int(g.lost[seat])


@helper
def _take_lives(g: Any, r: Any) -> None:
    """The lowest lose lives; at zero a seat is out."""
    _pay_losses(g, r)
    _tell_who_is_out(g, r)


@routine
def _win_alone(g: Any, r: Any) -> None:
    """The last with a life wins."""
    for seat in range(int(r.seats)):
        g.won[seat] = is_in(g, seat)
    _win(g, r)


@helper
def _tell_who_is_out(g: Any, r: Any) -> None:
    for seat in range(int(r.seats)):
        if int(g.lost[seat]) > 0 and not is_in(g, seat):
            tell(g, E_OUT, seat, NOBODY, NO_CARD, NO_CARD)


@routine
def _settle_final_tie(g: Any, r: Any) -> None:
    """Everyone still in would go out at once: what was agreed beforehand decides."""
    tell(g, E_FINAL_TIE, NOBODY, NOBODY, NO_CARD, NO_CARD)
    rule = int(r.final_tie)
    if rule == _JOINT:
        for seat in range(int(r.seats)):
            g.won[seat] = is_in(g, seat)
    elif rule == _CUT:
        g.won[_cut_for_high(g, r, E_FINAL_CUT)] = True
    elif rule != _REPLAY:
        _carry_pot(g, r)
    if rule == _JOINT or rule == _CUT:
        _pay_losses(g, r)
        _win(g, r)


@helper
def _carry_pot(g: Any, r: Any) -> None:
    """A new game of all the original seats for the pot so far, perhaps with a new stake from each."""
    tell(g, E_CARRIED, NOBODY, NOBODY, NO_CARD, NO_CARD)
    for seat in range(int(r.seats)):
        g.lives[seat] = r.lives
        g.staked[seat] = int(g.staked[seat]) + int(int(r.final_tie) == _CARRY_STAKE)


@routine
def _win(g: Any, r: Any) -> None:
    """The winners share the pot equally; a return is what a seat takes less what it staked."""
    pot, winners = 0, 0
    for seat in range(int(r.seats)):
        pot += int(g.staked[seat])
        winners += int(g.won[seat])
    share = float(r.stake) * pot / winners
    for seat in range(int(r.seats)):
        taken = share if g.won[seat] else 0.0
        g.payoff[seat] = taken - float(r.stake) * int(g.staked[seat])
        if g.won[seat]:
            tell(g, E_WON, seat, NOBODY, NO_CARD, NO_CARD)
    g.result = WON


@routine
def _settle_round(g: Any, r: Any) -> None:
    """A single deal: a stake for every life lost, fees included, shared by those that lost none."""
    _pay_losses(g, r)
    paid, unhurt, hurt = 0, 0, 0
    for seat in range(int(r.seats)):
        lost = int(g.before[seat]) - int(g.lives[seat])
        paid += lost
        unhurt += int(int(g.before[seat]) > 0 and lost == 0)
        hurt += int(lost > 0)
    if unhurt == 0 or hurt == 0:
        g.result = UNDECIDED
        return
    g.result = WON
    share = float(r.stake) * paid / unhurt
    for seat in range(int(r.seats)):
        lost = int(g.before[seat]) - int(g.lives[seat])
        g.won[seat] = int(g.before[seat]) > 0 and lost == 0
        g.payoff[seat] = share if g.won[seat] else -float(r.stake) * lost
        if g.won[seat]:
            tell(g, E_WON, seat, NOBODY, NO_CARD, NO_CARD)


@routine
def _close(g: Any, r: Any) -> None:
    """The game is over: nobody acts, and all the cards lie open."""
    g.phase = OVER
    g.seat = NOBODY
    g.turn = NOBODY
    for seat in range(int(r.seats)):
        if int(g.card[seat]) != NO_CARD:
            _lay_open(g, r, seat)


# ---------------------------------------------------------------------------------------------------
# What Python calls


@entry
def start(games: Any, rules: Any, i: int) -> None:
    """Start game ``i`` from the beginning, with its own generator."""
    g = games[i]
    g.n_events = 0
    begin_game(g, rules[g.rules])


@entry
def start_at(games: Any, rules: Any, i: int) -> None:
    """Start game ``i`` from the position in its record: ``lives``, ``before``, ``staked`` and ``dealer``."""
    g = games[i]
    g.n_events = 0
    begin_play(g, rules[g.rules])


@entry
def step(games: Any, rules: Any, i: int, action: int) -> None:
    """The seat to act in game ``i`` takes an action, which must be legal: this is not checked."""
    g = games[i]
    g.n_events = 0
    apply(g, rules[g.rules], action)


@entry
def legal(games: Any, rules: Any, i: int) -> int:
    """The legal actions in game ``i`` as bits ``1 << action``; 0 when it is over."""
    g = games[i]
    return legal_actions(g, rules[g.rules])


@entry
def redeal(games: Any, rules: Any, i: int) -> None:
    """Collect and repeat an incorrect deal in game ``i``: no life is lost, the dealer stays."""
    g = games[i]
    g.n_events = 0
    tell(g, E_MISDEALT, NOBODY, NOBODY, NO_CARD, NO_CARD)
    deal(g, rules[g.rules])
