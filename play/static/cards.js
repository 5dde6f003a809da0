/**
 * Cards drawn with text and lines. A card is written as in records: "9h", "Ts", "Kc".
 */

import { s } from "./dom.js";

const RANKS = {
  A: "ace", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven",
  8: "eight", 9: "nine", T: "ten", J: "jack", Q: "queen", K: "king",
};
const SUITS = { c: "clubs", d: "diamonds", h: "hearts", s: "spades" };
const COURT = { J: "feather", Q: "coronet", K: "crown" };

// Where the pips of 2 to 10 stand: column, row, in per cent of the field inside the corners.
const [LEFT, MIDDLE, RIGHT] = [0, 50, 100];
const SIDES = (rows) => rows.flatMap((row) => [[LEFT, row], [RIGHT, row]]);
const PIPS = {
  2: [[MIDDLE, 0], [MIDDLE, 100]],
  3: [[MIDDLE, 0], [MIDDLE, 50], [MIDDLE, 100]],
  4: SIDES([0, 100]),
  5: [...SIDES([0, 100]), [MIDDLE, 50]],
  6: SIDES([0, 50, 100]),
  7: [...SIDES([0, 50, 100]), [MIDDLE, 25]],
  8: [...SIDES([0, 50, 100]), [MIDDLE, 25], [MIDDLE, 75]],
  9: [...SIDES([0, 33.3, 66.7, 100]), [MIDDLE, 50]],
  T: [...SIDES([0, 33.3, 66.7, 100]), [MIDDLE, 16.7], [MIDDLE, 83.3]],
};

/** "nine of hearts". */
export function cardName(card) {
  return `${RANKS[card[0]]} of ${SUITS[card[1]]}`;
}

/** "9♥", as the sentences of the game write it. */
export function cardSymbol(card) {
  return rankText(card) + { c: "♣", d: "♦", h: "♥", s: "♠" }[card[1]];
}

/** The picture of a card; null is a card that lies face down, and `peeked` one that one knows all the same. */
export function drawCard(card, { large = false, peeked = false, label = null } = {}) {
  const name = label ?? (card ? cardName(card) : "a card, face down");
  const picture = s("svg", {
    class: `card ${card && !peeked ? "card-open" : "card-down"}`,
    viewBox: "0 0 100 140", role: "img", "aria-label": name, focusable: "false",
    "data-card": card ?? "",
  });
  picture.append(s("rect", { class: "card-paper", x: 1, y: 1, width: 98, height: 138, rx: 9 }));
  if (!card) picture.append(...backOf());
  else {
    picture.classList.add("dh".includes(card[1]) ? "card-red" : "card-black");
    if (peeked) picture.append(...backOf(), ...peekedFace(card));
    else picture.append(...(large ? largeFace(card) : smallFace(card)));
  }
  return picture;
}

/** An empty place on the table. */
export function drawNoCard(label) {
  return s("svg", { class: "card card-none", viewBox: "0 0 100 140", role: "img", "aria-label": label },
    s("rect", { class: "card-place", x: 2, y: 2, width: 96, height: 136, rx: 9 }));
}

function backOf() {
  const lines = [];
  for (let at = -120; at <= 220; at += 16) {
    lines.push(`M${at} 8l124 124`, `M${at} 132l124-124`);
  }
  return [
    s("svg", { x: 8, y: 8, width: 84, height: 124, viewBox: "8 8 84 124" },
      s("rect", { class: "back-field", x: 8, y: 8, width: 84, height: 124, rx: 5 }),
      s("path", { class: "back-lattice", d: lines.join("") })),
    s("ellipse", { class: "back-oval", cx: 50, cy: 70, rx: 25, ry: 30 }),
    s("use", { class: "back-bird", href: "#bird", x: 31, y: 51, width: 38, height: 38 }),
  ];
}

function rankText(card) {
  return card[0] === "T" ? "10" : card[0];
}

function pip(card, x, y, size, turned = false) {
  const half = size / 2;
  return s("use", {
    href: `#suit-${card[1]}`, x: x - half, y: y - half, width: size, height: size,
    transform: turned ? `rotate(180 ${x} ${y})` : null,
  });
}

function corner(card) {
  const parts = () => [
    s("text", { class: "card-corner", x: 14, y: 25, "text-anchor": "middle" }, rankText(card)),
    pip(card, 14, 36, 15),
  ];
  return [s("g", {}, parts()), s("g", { transform: "rotate(180 50 70)" }, parts())];
}

function largeFace(card) {
  const parts = corner(card);
  if (card[0] === "A") parts.push(pip(card, 50, 70, 52));
  else if (COURT[card[0]]) parts.push(...court(card));
  else {
    const size = 20;
    for (const [column, row] of PIPS[card[0]]) {
      parts.push(pip(card, 36 + column * 0.28, 27 + row * 0.86, size, row > 50));
    }
  }
  return parts;
}

function court(card) {
  return [
    s("rect", { class: "court-frame", x: 27, y: 17, width: 46, height: 106, rx: 6 }),
    s("use", { class: "court-mark", href: `#${COURT[card[0]]}`, x: 33, y: 24, width: 34, height: 23 }),
    s("text", { class: "court-letter", x: 50, y: 86, "text-anchor": "middle" }, card[0]),
    pip(card, 50, 107, 20),
  ];
}

/** On the back of a card: what one has seen of its face. */
function peekedFace(card) {
  return [
    s("rect", { class: "card-paper peeked", x: 15, y: 26, width: 70, height: 88, rx: 12 }),
    s("text", { class: "card-peeked", x: 50, y: 73, "text-anchor": "middle" }, rankText(card)),
    pip(card, 50, 93, 28),
  ];
}

function smallFace(card) {
  const mark = COURT[card[0]];
  return [
    s("text", {
      class: `card-rank${card[0] === "T" ? " card-rank-wide" : ""}`, x: 50, y: 66, "text-anchor": "middle",
    }, rankText(card)),
    mark ? s("use", { class: "court-mark", href: `#${mark}`, x: 35, y: 6, width: 30, height: 16 }) : null,
    pip(card, 50, 101, 46),
  ].filter(Boolean);
}
