/**
 * The table seen from above: seats round an oval, cards, lives, the dealer's button, the order of play.
 *
 * A stage shows *views*, as the server sends them. It computes no rule: whatever it shows is in the view.
 */

import { cardName, drawCard, drawNoCard } from "./cards.js";
import { counted, h, s, spoken } from "./dom.js";
import { mayMove } from "./prefs.js";

const TOKENS_DRAWN = 6;
/** So many seats leave each of them less room. */
const CROWDS = [[4, "stage-some"], [6, "stage-many"], [8, "stage-full"]];
const QUIET = new Set(["waiting"]);

export class Stage {
  /**
   * @param {{seat: number, name: string, you: boolean}[]} players everybody at the table.
   * @param {{you: number|null, label: string, looker: number|null}} options whose side of the table
   * is nearest, and who looks: a seat's own card is never drawn face down to itself.
   */
  constructor(players, { you = null, label = "The table", looker = you } = {}) {
    this.players = players;
    this.you = you;
    this.looker = looker;
    this.view = null;
    this.seats = players.map((player) => this.#makeSeat(player));
    this.dealerButton = h("div", { class: "dealer-button", "aria-hidden": "true" },
      "D", h("span", { class: "dealer-rest" }, "ealer"));
    this.stock = h("div", { class: "stock" });
    this.sign = h("p", { class: "felt-sign" });
    this.arrows = s("svg", { class: "arrows", "aria-hidden": "true", focusable: "false" });
    this.element = h("section", { class: ["stage", ...shapeOf(players.length)].join(" "), "aria-label": label },
      h("div", { class: "felt", "aria-hidden": "true" }),
      this.arrows,
      h("div", { class: "middle" }, this.sign, this.stock),
      h("ol", { class: "seats" }, this.seats.map((seat) => seat.element)));
    new ResizeObserver(() => this.#layOut()).observe(this.element);
  }

  #makeSeat(player) {
    const card = h("div", { class: "seat-card" });
    const lives = h("span", { class: "lives" });
    const note = h("span", { class: "seat-note" });
    const place = h("span", { class: "seat-place" });
    const you = player.seat === this.you;
    const element = h("li", { class: `seat${you ? " seat-you" : ""}`, "data-seat": player.seat },
      card,
      h("div", { class: "plaque" },
        h("span", { class: "seat-name", title: player.name }, player.name,
          you && player.name !== "You" ? spoken(" (you)") : null),
        spoken(", "), lives, note, place));
    return { element, card, lives, note, place };
  }

  /**
   * Show a view. With `frame`, what has just happened moves.
   */
  update(view, frame = null) {
    const before = this.view;
    this.view = view;
    const from = frame && mayMove() ? this.#cardPlaces() : null;
    view.seats.forEach((seat, at) => this.#drawSeat(at, seat, view, before, frame));
    this.#drawStock(view, frame);
    this.#drawOrder(view);
    this.sign.textContent = signOf(view);
    this.#layOut();
    this.#passDealer(view.dealer, frame);
    if (from) this.#animate(frame, from);
  }

  #drawSeat(at, seat, view, before, frame) {
    const { element, card, lives, note } = this.seats[at];
    element.classList.toggle("seat-acts", view.acts === at);
    element.classList.toggle("seat-out", !seat.in);
    const was = before?.seats[at];
    if (!was || was.card !== seat.card || was.holds !== seat.holds || was.shown !== seat.shown
        || was.known !== seat.known || was.in !== seat.in || !card.firstChild) {
      card.replaceChildren(this.#cardOf(at, seat));
    }
    if (!was || was.lives !== seat.lives || was.max_lives !== seat.max_lives) {
      lives.replaceChildren(...drawLives(seat, was && frame ? was.lives - seat.lives : 0));
    }
    const said = noteOf(at, seat, view);
    note.replaceChildren(...(said ? [spoken(", "), said] : []));
  }

  #cardOf(at, seat) {
    const large = at === this.you;
    if (!seat.holds) return drawNoCard(seat.in ? "no card" : "out of the game");
    if (!seat.card) return drawCard(null);
    const peeked = seat.known && at !== this.looker;
    let label = cardName(seat.card);
    if (seat.shown) label += ", open";
    else if (at !== this.looker) label += peeked ? ", face down, but known" : ", face down";
    return drawCard(seat.card, { large, peeked, label });
  }

  #drawStock(view, frame) {
    const top = view.stock
      ? drawCard(view.stock, { label: `${cardName(view.stock)}, from the stock` })
      : drawCard(null, { label: "the stock, face down" });
    top.classList.toggle("stock-shown", Boolean(view.stock));
    this.stock.replaceChildren(
      h("div", { class: "pile", "aria-hidden": "true" }, drawCard(null), drawCard(null)),
      top, h("span", { class: "stock-name" }, "Stock"));
    if (frame?.event === "stock_showed" && mayMove()) flip(top);
  }

  /** Numbers at the seats and arrows between them, from the order the server tells. */
  #drawOrder(view) {
    const order = view.order ?? [];
    this.seats.forEach(({ place }, seat) => {
      const turn = order.indexOf(seat);
      place.hidden = turn < 0;
      place.replaceChildren(
        spoken(turn < 0 ? "" : `, ${placeInWords(turn, order.length, seat === view.dealer)}`),
        h("span", { "aria-hidden": "true" }, String(turn + 1)));
    });
  }

  #layOut() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !this.view) return;
    const style = getComputedStyle(this.element);
    const [rx, ry, gap] = ["--rx", "--ry", "--gap"].map((name) => Number(style.getPropertyValue(name)));
    this.angles = spread(this.players.length, rx * width, ry * height, gap);
    this.seats.forEach(({ element }, at) => this.#place(element, this.#angleOf(at)));
    const place = (angle) => {
      const { x, y } = onOval(angle, 0.66);
      return [width * (0.5 + x * rx), height * (0.47 + y * ry)];
    };
    this.#layArrows(width, height, place);
  }

  #place(element, angle) {
    const { x, y } = onOval(angle, 1);
    // What stands beside a card stands on its inner side.
    element.classList.toggle("seat-right", x > 0.1);
    element.style.setProperty("--x", x);
    element.style.setProperty("--y", y);
  }

  /** Degrees clockwise from the near side. */
  #angleOf(seat) {
    const seats = this.players.length;
    return this.angles[(seat - (this.you ?? 0) + seats) % seats];
  }

  /** The button lies at the dealer's card, and slides there when the deal passes on. */
  #passDealer(dealer, frame) {
    const from = this.dealerButton.getBoundingClientRect();
    const { element } = this.seats[dealer];
    if (this.dealerButton.parentElement === element) return;
    element.append(this.dealerButton);
    if (frame && mayMove()) travel(this.dealerButton, from, 700);
  }

  /** An arc from each seat to the one that plays after it. */
  #layArrows(width, height, place) {
    const order = this.view.order ?? [];
    const steps = order.slice(1).map((seat, at) => [order[at], seat]);
    const clockwise = steps.reduce((sum, [one, two]) => sum + this.#ahead(one, two), 0) < 360;
    this.arrows.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.arrows.replaceChildren(...steps.map(([one, two]) => {
      const way = clockwise ? this.#ahead(one, two) : this.#ahead(one, two) - 360;
      return s("path", {
        class: `arrow${this.#isBehind(one) ? " arrow-done" : ""}`,
        d: arc(this.#angleOf(one), way, place, [this.#trimAt(one), this.#trimAt(two)]),
      });
    }));
  }

  /** How much of the way an arrow keeps from a seat: more from the nearest, whose card is large. */
  #trimAt(seat) {
    return seat === this.you && this.players.length > 4 ? 0.5 : 0.26;
  }

  #isBehind(seat) {
    return !QUIET.has(this.view.seats[seat].outcome);
  }

  #ahead(one, two) {
    return (this.#angleOf(two) - this.#angleOf(one) + 360) % 360 || 360;
  }

  // What has just happened, in motion

  #cardPlaces() {
    return this.seats.map(({ card }) => card.getBoundingClientRect());
  }

  #animate(frame, from) {
    const cardOf = (seat) => this.seats[seat]?.card;
    switch (frame.event) {
      case "dealt":
        travel(cardOf(frame.seat), this.stock.getBoundingClientRect(), 260);
        break;
      case "drew":
        travel(cardOf(frame.seat), this.stock.getBoundingClientRect(), 520);
        break;
      case "swapped":
        travel(cardOf(frame.seat), from[frame.other], 620);
        travel(cardOf(frame.other), from[frame.seat], 620);
        break;
      case "showed":
      case "turned_up":
      case "revealed":
        flip(cardOf(frame.seat));
        break;
      case "asked":
        this.#nudge(frame.seat, frame.other);
        break;
      default:
    }
  }

  /** The asking seat's card leans towards the seat that is asked. */
  #nudge(seat, other) {
    const [one, two] = [this.seats[seat].card, this.seats[other].card].map((card) =>
      card.getBoundingClientRect());
    const [dx, dy] = [(two.left - one.left) * 0.12, (two.top - one.top) * 0.12];
    this.seats[seat].card.animate(
      [{ transform: "none" }, { transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }],
      { duration: 520, easing: "ease-in-out" });
  }
}

/** What the number of seats changes in the look of the table. */
function shapeOf(seats) {
  const crowds = CROWDS.filter(([least]) => seats >= least).map(([, name]) => name);
  // Somebody sits opposite, at the very top.
  return seats % 2 === 0 ? [...crowds, "stage-faced"] : crowds;
}

/**
 * Angles at which seats are equally far from each other along an oval; whoever is nearest has more
 * room, as the nearest card is large.
 */
function spread(seats, rx, ry, gap) {
  const steps = 360;
  const along = [0];
  for (let angle = 1; angle <= steps; angle += 1) {
    const [one, two] = [onOval(angle - 1, 1), onOval(angle, 1)];
    along.push(along.at(-1) + Math.hypot((two.x - one.x) * rx, (two.y - one.y) * ry));
  }
  const round = along.at(-1);
  const near = Math.max(round / seats, Math.min(gap, round / 4));
  const between = seats > 2 ? (round - 2 * near) / (seats - 2) : 0;
  const wanted = (at) => (seats === 2 ? round / 2 : near + (at - 1) * between);
  return Array.from({ length: seats }, (_, at) =>
    at === 0 ? 0 : along.findIndex((length) => length >= wanted(at)));
}

/** Where an angle lies, from -1 to 1 both ways; `reach` is how far from the middle. */
function onOval(angle, reach) {
  const radians = (angle * Math.PI) / 180;
  return { x: -Math.sin(radians) * reach, y: Math.cos(radians) * reach };
}

/** A path along the oval with a head at its end, not quite from seat to seat. */
function arc(start, way, place, [from, to]) {
  const steps = 20;
  const at = (part) => start + way * (from + (1 - from - to) * part);
  const points = Array.from({ length: steps + 1 }, (_, step) => place(at(step / steps)));
  const [[x0, y0], [x1, y1]] = [points.at(-2), points.at(-1)];
  const turn = Math.atan2(y1 - y0, x1 - x0);
  const wing = (side) => [x1 - 9 * Math.cos(turn + side * 0.6), y1 - 9 * Math.sin(turn + side * 0.6)];
  const line = (list) => `M${list.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`;
  return line(points) + line([wing(1), [x1, y1], wing(-1)]);
}

function travel(card, from, duration) {
  if (!card || !from?.width) return;
  const to = card.getBoundingClientRect();
  const scale = to.width ? from.width / to.width : 1;
  const shift = `translate(${from.left - to.left}px, ${from.top - to.top}px) scale(${scale})`;
  card.animate(
    [{ transform: shift, transformOrigin: "0 0", zIndex: 5 },
      { transform: "none", transformOrigin: "0 0", zIndex: 5 }],
    { duration, easing: "cubic-bezier(.3,.7,.3,1)" });
}

function flip(card) {
  card.animate([{ transform: "rotateY(90deg)" }, { transform: "none" }], {
    duration: 260, easing: "ease-out",
  });
}

/** Tokens: a full one for a life left, an empty one for a life lost. */
export function drawLives(seat, justLost = 0) {
  const words = seat.in ? `${seat.lives} of ${counted(seat.max_lives, "life", "lives")} left` : "out";
  if (seat.max_lives > TOKENS_DRAWN) {
    return [spoken(words), h("span", { class: "lives-number", "aria-hidden": "true" },
      h("span", { class: "token" }), ` × ${seat.lives}`)];
  }
  const tokens = Array.from({ length: seat.max_lives }, (_, at) => h("span", {
    class: `token${at < seat.lives ? "" : " token-lost"}${
      at >= seat.lives && at < seat.lives + justLost ? " token-just-lost" : ""}`,
    "aria-hidden": "true",
  }));
  return [spoken(words), ...tokens];
}

function noteOf(at, seat, view) {
  if (!seat.in) return "out";
  if (view.acts === at) return view.turn === at ? "to play" : "to answer";
  return QUIET.has(seat.outcome) ? "" : seat.outcome;
}

function signOf({ round, trading, pot }) {
  return [`Round ${round}`, pot === null ? null : `pot ${pot}`, trading ? null : "no more trading"]
    .filter(Boolean).join(", ");
}

function placeInWords(turn, seats, deals) {
  const place = turn === seats - 1 ? "last" : ["first", "second", "third"][turn] ?? `as number ${turn + 1}`;
  return `${deals ? "deals, " : ""}plays ${place}`;
}
