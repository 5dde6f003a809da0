/**
 * Choosing a table: who plays, how many, by which rules; the rules in words while one chooses.
 */

import { ApiError, post } from "./api.js";
import { field, freshId, h, select, toggle } from "./dom.js";
import { pref, setPref } from "./prefs.js";

const OTHER = "…";
const NUMBERS = {
  lives: "Lives",
  decks: "Packs of cards",
  max_rounds: "Limit of rounds",
};
const TITLES = {
  ace: "Aces", king: "Kings", queen: "Queens", jack: "Jacks", dealer: "The dealer's turn",
  swapped_turn: "Having been made to swap", refusal: "Refusing", penalty: "What the lowest pay",
  pairs: "Equal ranks", ties: "Ties for lowest", final_tie: "If all would go out at once",
  first_dealer: "First dealer", direction: "Direction of play", game: "Length",
};

export async function setupPage(room, app) {
  const menu = await app.menu();
  new SetupPage(room, menu, app);
}

class SetupPage {
  constructor(room, menu, app) {
    Object.assign(this, { menu, app });
    this.choice = { ...firstChoice(menu), ...JSON.parse(pref("setup") || "{}") };
    this.explained = h("section", {
      class: "panel explained", "aria-live": "polite", "aria-label": "The rules in words",
    });
    this.form = h("form", { class: "setup-form", onsubmit: (event) => this.#start(event) });
    room.append(
      h("h1", { tabindex: "-1" }, "Choose a table"),
      h("p", { class: "lead" },
        "One private card each: keep it, or swap it and hope. ",
        h("a", { href: "#learn" }, "Learn the game in a few deals"), ", or sit down at once."),
      h("div", { class: "setup" }, this.form, this.explained));
    this.#draw();
    this.#explain();
  }

  #draw() {
    this.form.replaceChildren(this.#drawPeople(), this.#drawRules(), this.#drawStart());
  }

  #set(changes, redraw = true) {
    Object.assign(this.choice, changes);
    this.#fitSeats();
    setPref("setup", JSON.stringify(this.choice));
    if (redraw) this.#redraw();
    this.#explainSoon();
  }

  /** Draw again and leave the focus where it was. */
  #redraw() {
    const name = document.activeElement?.getAttribute("name");
    this.#draw();
    if (name) this.form.elements.namedItem(name)?.focus();
  }

  #preset() {
    return this.menu.presets.find((preset) => preset.name === this.choice.preset) ?? this.menu.presets[0];
  }

  #seatRange() {
    const { seats } = this.#preset();
    return [Math.max(this.menu.seats[0], seats[0]), Math.min(this.menu.seats[1], seats[1])];
  }

  #fitSeats() {
    const [least, most] = this.#seatRange();
    this.choice.seats = Math.min(Math.max(this.choice.seats, least), most);
    const { opponents } = this.choice;
    while (opponents.length < this.choice.seats - 1) {
      opponents.push(this.menu.defaults.opponents[opponents.length % this.menu.defaults.opponents.length]);
    }
    opponents.length = this.choice.seats - 1;
  }

  // The form

  #drawPeople() {
    const { choice } = this;
    const [least, most] = this.#seatRange();
    const name = h("input", {
      type: "text", name: "name", maxlength: 24, autocomplete: "off", value: choice.name,
      onchange: (event) => this.#set({ name: event.target.value }, false),
    });
    const counts = Array.from({ length: most - least + 1 }, (_, at) => [String(least + at), String(least + at)]);
    const seats = select(counts, String(choice.seats), (value) => this.#set({ seats: Number(value) }));
    seats.name = "seats";
    const seatsHint = least === most ? h("p", { class: "hint" }, `These rules are for ${least} seats.`) : null;
    return h("fieldset", {}, h("legend", {}, "Who plays"),
      h("div", { class: "grid2" }, field("Your name", name), field("Seats, yours included", seats, seatsHint)),
      h("div", { class: "grid2" }, choice.opponents.map((spec, at) => this.#drawOpponent(spec, at))));
  }

  #drawOpponent(spec, at) {
    const known = this.menu.agents.map((agent) => [agent.spec, agent.name]);
    const other = !known.some(([each]) => each === spec);
    const set = (value) => {
      this.choice.opponents[at] = value;
      this.#set({});
    };
    const options = [...known, [OTHER, "another …"]];
    const control = select(options, other ? OTHER : spec, (value) => set(value === OTHER ? "" : value));
    control.name = `opponent-${at}`;
    const summary = this.menu.agents.find((agent) => agent.spec === spec)?.summary;
    const hint = h("p", { class: "hint" }, summary ?? "Any agent by name, such as threshold:5.");
    const label = `Opponent ${at + 1}`;
    if (!other) return field(label, control, hint);
    const text = h("input", {
      type: "text", name: `agent-${at}`, value: spec, "aria-label": `${label}: agent`,
      onchange: (event) => set(event.target.value.trim()),
    });
    return h("div", { class: "field" }, field(label, control), text, hint);
  }

  #drawRules() {
    const { choice, menu } = this;
    const presets = menu.presets.map(({ name }) => [name, name.replaceAll("-", " ")]);
    const preset = select(presets, choice.preset, (value) => this.#set({ preset: value, changes: {} }));
    preset.name = "preset";
    const changed = Object.keys(choice.changes).length;
    return h("fieldset", {}, h("legend", {}, "Rules"),
      field("Rule set", preset, h("p", { class: "hint" }, this.#preset().summary)),
      h("details", {
        open: this.variantsOpen || changed > 0,
        ontoggle: (event) => { this.variantsOpen = event.target.open; },
      },
        h("summary", {}, changed ? `Variants (${changed} changed)` : "Variants"),
        h("div", { class: "grid2" },
          Object.keys(NUMBERS).map((axis) => this.#drawNumber(axis)),
          Object.entries(menu.axes).map(([axis, values]) => this.#drawAxis(axis, values)))));
  }

  #change(axis, value) {
    const changes = { ...this.choice.changes };
    if (value === "") delete changes[axis];
    else changes[axis] = value;
    this.#set({ changes });
  }

  #drawAxis(axis, values) {
    const named = values.map(({ value }) => [value, value.replaceAll("_", " ")]);
    const options = [["", "as in the rule set"], ...named];
    const chosen = this.choice.changes[axis] ?? "";
    const control = select(options, chosen, (value) => this.#change(axis, value));
    control.name = `axis-${axis}`;
    const hint = h("p", { class: "hint", "data-axis": axis },
      values.find(({ value }) => value === chosen)?.sentence ?? this.sentences?.[axis] ?? "");
    return field(TITLES[axis] ?? axis, control, hint);
  }

  #drawNumber(axis) {
    const control = h("input", {
      type: "number", name: `axis-${axis}`, min: 1, max: this.menu[axis]?.[1], step: 1, inputmode: "numeric",
      placeholder: "as in the rule set", value: this.choice.changes[axis] ?? "",
      onchange: (event) => this.#change(axis, event.target.value),
    });
    const hint = h("p", { class: "hint", "data-axis": axis }, this.sentences?.[axis] ?? "");
    return field(NUMBERS[axis], control, hint);
  }

  #drawStart() {
    const id = freshId("coach");
    const coach = toggle("Coach", this.choice.coach, (on) => this.#set({ coach: on }, false));
    coach.setAttribute("aria-describedby", id);
    return h("div", { class: "buttons" },
      h("button", { type: "submit", class: "primary start" }, "Deal the cards"),
      coach, h("p", { class: "hint", id }, "tells you after each decision what it was worth"));
  }

  // The rules in words

  #rulesText() {
    const { preset, seats, changes } = this.choice;
    const parts = Object.entries(changes).map(([axis, value]) => `${axis}=${value}`);
    return [preset, `seats=${seats}`, ...parts].join(",");
  }

  #explainSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#explain(), 120);
  }

  async #explain() {
    const asked = this.#rulesText();
    try {
      const told = await post("explain", { rules: asked });
      if (asked !== this.#rulesText()) return;
      this.sentences = told.sentences;
      this.#fillHints();
      this.#drawExplained(told);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.explained.replaceChildren(h("h2", {}, "These rules"), h("p", { class: "refused" }, error.message));
    }
  }

  #fillHints() {
    for (const hint of this.form.querySelectorAll("[data-axis]")) {
      hint.textContent = this.sentences[hint.dataset.axis] ?? hint.textContent;
    }
  }

  #drawExplained({ text, sentences, special, together }) {
    const plain = Object.keys(sentences).filter((axis) => !special.includes(axis) && axis !== "stake");
    const list = (lines) => h("ul", {}, lines.map((line) => h("li", {}, line)));
    const shown = special.filter((axis) => axis !== "stake").map((axis) => sentences[axis]);
    this.explained.replaceChildren(
      h("h2", {}, "These rules"),
      ...(shown.length ? [h("h3", {}, "What is special here"), list(shown)] : []),
      ...(together.length ? [h("h3", {}, "Which means"), list(together)] : []),
      h("h3", {}, "The game"), list(plain.map((axis) => sentences[axis])),
      h("p", { class: "hint" }, h("code", {}, text)));
  }

  async #start(event) {
    event.preventDefault();
    const { name, opponents, coach } = this.choice;
    try {
      const answer = await post("tables", { rules: this.#rulesText(), opponents, name, coach });
      this.app.sitDown(answer);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.app.notice(error.message);
    }
  }
}

function firstChoice({ presets, defaults }) {
  const [preset, ...parts] = (defaults.rules ?? presets[0].name).split(",");
  const changes = Object.fromEntries(parts.map((part) => part.split("=")));
  const seats = Number(changes.seats ?? defaults.opponents.length + 1);
  delete changes.seats;
  const { name, coach, opponents } = defaults;
  return { name, seats, opponents: [...opponents], preset, changes, coach };
}
