/**
 * A finished game once more, step by step, with what each seat knew at every moment.
 */

import { get } from "./api.js";
import { arrowKeys, button, field, h, isForPage, select } from "./dom.js";
import { pref } from "./prefs.js";
import { Stage } from "./stage.js";

const ALL = "all";

export async function replayPage(room, app) {
  const id = pref("table");
  const snapshot = id ? await get(`tables/${id}`) : null;
  if (snapshot?.phase !== "over") return drawNothing(room);
  const { steps } = await get(`tables/${id}/replay`);
  return new ReplayPage(room, id, snapshot, steps);
}

function drawNothing(room) {
  room.append(h("h1", { tabindex: "-1" }, "Nothing to replay yet"),
    h("p", {}, "A game can be seen once more, with all its cards, when it is over. ",
      h("a", { href: "#play" }, "Play one"), "."));
  return null;
}

class ReplayPage {
  constructor(room, id, snapshot, steps) {
    Object.assign(this, { steps, players: snapshot.players, at: 0, viewer: ALL });
    const you = snapshot.players.find((each) => each.you).seat;
    this.stage = new Stage(snapshot.players, { you, label: "The game once more", looker: null });
    this.text = h("p", { class: "caption", "aria-live": "polite" });
    this.why = h("p", { class: "caption-why" });
    this.explained = h("p", { class: "hint" });
    this.slider = h("input", {
      type: "range", min: 0, max: steps.length - 1, value: 0, "aria-label": "Step",
      oninput: () => this.#go(Number(this.slider.value)),
    });
    this.place = h("p", { class: "progress" });
    this.onKey = (event) => this.#press(event);
    room.append(h("div", { class: "lesson" },
      h("div", { class: "table-bar" },
        h("h1", { tabindex: "-1" }, "The game once more"),
        h("a", { class: "button", href: "#play" }, "Back to the table")),
      this.stage.element,
      h("section", { class: "desk panel", "aria-label": "Steps" },
        h("div", {}, this.text, this.why), h("div", { class: "desk-foot" }, this.#drawSteps(), this.place),
        this.#drawFoot(id))));
    this.#show(null);
  }

  enter() {
    document.addEventListener("keydown", this.onKey);
  }

  leave() {
    document.removeEventListener("keydown", this.onKey);
  }

  #drawSteps() {
    return [this.slider, h("div", { class: "steps" },
      button("Back", () => this.#go(this.at - 1)),
      button("Next", () => this.#go(this.at + 1), { class: "primary" }),
      button("Round before", () => this.#toRound(-1)),
      button("Next round", () => this.#toRound(1)))];
  }

  #drawFoot(id) {
    const known = this.players.map(({ seat, you, name }) => [String(seat), `what ${you ? "you" : name} knew`]);
    const viewers = [[ALL, "every card"], ...known];
    const viewer = select(viewers, ALL, (value) => {
      this.viewer = value;
      this.#show(null);
    });
    return h("div", { class: "replay-foot" },
      field("Show", viewer, this.explained),
      h("a", { class: "button", href: `/api/tables/${id}/record`, download: "cuckoo-record.json" },
        "Download the record"));
  }

  #go(to) {
    const before = this.at;
    this.at = Math.min(Math.max(to, 0), this.steps.length - 1);
    this.#show(this.at === before + 1 ? this.steps[this.at] : null);
  }

  /** To where the next round begins, or the one before. */
  #toRound(by) {
    let to = this.at + by;
    while (to > 0 && to < this.steps.length - 1 && this.steps[to].event !== "round") to += by;
    this.#go(to);
  }

  #show(moves) {
    const step = this.steps[this.at];
    this.stage.update(this.#viewOf(step), moves);
    this.text.textContent = step.text;
    this.why.textContent = step.why ?? "";
    this.slider.value = this.at;
    this.slider.setAttribute("aria-valuetext", `${this.at + 1} of ${this.steps.length}: ${step.text}`);
    this.explained.textContent = this.viewer === ALL
      ? "What lies on a card's back was hidden from the table."
      : "What lies on a card's back lay face down, and was known all the same.";
    this.place.replaceChildren(`Step ${this.at + 1} of ${this.steps.length} `, arrowKeys());
  }

  /** All cards, or only those that one seat knew. */
  #viewOf(step) {
    if (this.viewer === ALL) {
      const seats = step.view.seats.map((seat) => ({ ...seat, known: Boolean(seat.card) && !seat.shown }));
      return { ...step.view, seats };
    }
    const viewer = Number(this.viewer);
    const knew = step.knew[viewer];
    const seats = step.view.seats.map((seat, at) => {
      const card = knew[at];
      return { ...seat, card, known: Boolean(card) && !seat.shown && at !== viewer };
    });
    return { ...step.view, seats };
  }

  #press(event) {
    if (!isForPage(event)) return;
    if (event.key === "ArrowRight") this.#go(this.at + 1);
    if (event.key === "ArrowLeft") this.#go(this.at - 1);
  }
}
