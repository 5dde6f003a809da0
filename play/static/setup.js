/**
 * Choosing a table: who plays, how many, by which rules; the rules in words while one chooses.
 */

import { ApiError, PATIENCE, post } from "./api.js";
import { field, freshId, h, select, toggle } from "./dom.js";
import { pref, setPref } from "./prefs.js";

const DEAL = "Deal the cards";
const OTHER = "…";
const ANY_AGENT = { summary: "Any agent by name, such as threshold:5." };
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
  return new SetupPage(room, menu, app);
}

/** The rules that were chosen in this tab, as text; null where nothing was. */
export function chosenRules(menu) {
  return pref("setup") ? rulesText(choiceOf(menu)) : null;
}

/** What was chosen last, as far as it is still offered. */
function choiceOf(menu) {
  const { preset, changes, ...others } = JSON.parse(pref("setup") || "{}");
  const offered = menu.presets.some(({ name }) => name === preset);
  return { ...firstChoice(menu), ...others, ...(offered ? { preset, changes } : {}) };
}

function rulesText({ preset, seats, changes }) {
  const parts = Object.entries(changes).map(([axis, value]) => `${axis}=${value}`);
  return [preset, `seats=${seats}`, ...parts].join(",");
}

class SetupPage {
  constructor(room, menu, app) {
    Object.assign(this, { menu, app, isWanted: app.visiting() });
    this.choice = choiceOf(menu);
    this.unplayable = {};
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

  leave() {
    clearTimeout(this.timer);
  }

  #draw() {
    this.seats = h("div");
    this.opponents = h("div", { class: "grid2" });
    this.variants = h("div");
    this.summary = h("p", { class: "hint" });
    this.form.replaceChildren(this.#drawPeople(), this.#drawRules(), this.#drawStart());
    this.#fillSeats();
    this.#fillRules();
  }

  /**
   * Note a choice; `fill` draws what depends on it. The control itself is never drawn again: somebody may be
   * choosing with letter keys, or have left it for a button, and both must find it where it was.
   */
  #set(changes, fill = () => {}) {
    Object.assign(this.choice, changes);
    this.#fitSeats();
    setPref("setup", JSON.stringify(this.choice));
    fill();
    this.#explainSoon();
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
    const name = h("input", {
      type: "text", name: "name", maxlength: 24, autocomplete: "off", value: this.choice.name,
      onchange: (event) => this.#set({ name: event.target.value }),
    });
    return h("fieldset", {}, h("legend", {}, "Who plays"),
      h("div", { class: "grid2" }, field("Your name", name), this.seats),
      this.opponents,
      h("p", { class: "hint", "data-unplayable": "" }));
  }

  #fillSeats() {
    const [least, most] = this.#seatRange();
    const counts = Array.from({ length: most - least + 1 }, (_, at) => [String(least + at), String(least + at)]);
    const seats = select(counts, String(this.choice.seats), (value) =>
      this.#set({ seats: Number(value) }, () => this.#fillOpponents()));
    seats.name = "seats";
    const hint = least === most ? h("p", { class: "hint" }, `These rules are for ${least} seats.`) : null;
    this.seats.replaceChildren(field("Seats, yours included", seats, hint));
    this.#fillOpponents();
  }

  #fillOpponents() {
    this.opponents.replaceChildren(...this.choice.opponents.map((spec, at) => this.#drawOpponent(spec, at)));
    this.#markUnplayable();
  }

  #drawOpponent(spec, at) {
    const known = this.menu.agents.map((agent) => [agent.spec, agent.name]);
    const other = !known.some(([each]) => each === spec);
    const hint = h("p", { class: "hint" });
    const text = other ? h("input", {
      type: "text", name: `agent-${at}`, value: spec, "aria-label": `Opponent ${at + 1}: agent`,
      onchange: (event) => this.#invite(at, event.target.value.trim()),
    }) : null;
    const control = select([...known, [OTHER, "another …"]], other ? OTHER : spec, (value) => {
      this.#invite(at, value === OTHER ? "" : value);
      // An agent that is not in the list has a field of its own.
      if (!other && value !== OTHER) return;
      this.#fillOpponents();
      this.form.elements.namedItem(`opponent-${at}`).focus();
    });
    control.name = `opponent-${at}`;
    return h("div", { class: "field" }, field(`Opponent ${at + 1}`, control, hint), text);
  }

  #invite(at, spec) {
    this.choice.opponents[at] = spec;
    this.#set({}, () => this.#markUnplayable());
  }

  #drawRules() {
    const presets = this.menu.presets.map(({ name }) => [name, name.replaceAll("-", " ")]);
    const preset = select(presets, this.choice.preset, (value) =>
      this.#set({ preset: value, changes: {} }, () => {
        this.#fillSeats();
        this.#fillRules();
      }));
    preset.name = "preset";
    return h("fieldset", {}, h("legend", {}, "Rules"), field("Rule set", preset, this.summary), this.variants);
  }

  #fillRules() {
    this.summary.textContent = this.#preset().summary;
    this.variantsTitle = h("summary");
    this.#countVariants();
    this.variants.replaceChildren(h("details", {
      open: this.variantsOpen || this.#changed() > 0,
      ontoggle: (event) => { this.variantsOpen = event.target.open; },
    },
    this.variantsTitle,
    h("div", { class: "grid2" },
      Object.keys(NUMBERS).map((axis) => this.#drawNumber(axis)),
      Object.entries(this.menu.axes).map(([axis, values]) => this.#drawAxis(axis, values)))));
  }

  /** How much was changed that can be changed here: rules of the server's own may say more. */
  #changed() {
    return Object.keys(this.choice.changes).filter((axis) => axis in NUMBERS || this.#chosen(axis)).length;
  }

  /** What was chosen of what is offered. */
  #chosen(axis) {
    const values = this.menu.axes[axis] ?? [];
    return values.find(({ value }) => value === this.choice.changes[axis])?.value ?? "";
  }

  #countVariants() {
    const changed = this.#changed();
    this.variantsTitle.textContent = changed ? `Variants (${changed} changed)` : "Variants";
  }

  #change(axis, value) {
    const changes = { ...this.choice.changes };
    if (value === "") delete changes[axis];
    else changes[axis] = value;
    this.#set({ changes }, () => this.#countVariants());
  }

  #drawAxis(axis, values) {
    const named = values.map(({ value }) => [value, value.replaceAll("_", " ")]);
    const options = [["", "as in the rule set"], ...named];
    const chosen = this.#chosen(axis);
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
    const coach = toggle("Coach", this.choice.coach, (on) => this.#set({ coach: on }));
    coach.setAttribute("aria-describedby", id);
    return h("div", { class: "buttons start-bar" },
      this.startButton = h("button", { type: "submit", class: "primary start" }, DEAL),
      coach, h("p", { class: "hint", id }, "tells you after each decision what it was worth"));
  }

  // The rules in words

  #explainSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#explain(), 120);
  }

  async #explain() {
    const asked = rulesText(this.choice);
    try {
      const told = await post("explain", { rules: asked });
      if (asked !== rulesText(this.choice)) return;
      Object.assign(this, { sentences: told.sentences, unplayable: told.unplayable });
      this.#fillHints();
      this.#markUnplayable();
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

  /** Who cannot play these rules cannot be chosen, and it is said why; in place, as somebody may be typing. */
  #markUnplayable() {
    const { unplayable } = this;
    for (const select of this.form.querySelectorAll("select[name^=opponent-]")) {
      for (const option of select.options) option.disabled = Object.hasOwn(unplayable, option.value);
      const hint = this.form.querySelector(`#${select.id}-hint`);
      const { summary } = this.menu.agents.find(({ spec }) => spec === select.value) ?? ANY_AGENT;
      hint.textContent = unplayable[select.value] ?? summary;
      hint.classList.toggle("refused", Object.hasOwn(unplayable, select.value));
    }
    this.form.querySelector("[data-unplayable]").textContent = Object.values(unplayable).join(" ");
  }

  #drawExplained({ text, title, sentences, special, together }) {
    const plain = Object.keys(sentences).filter((axis) => !special.includes(axis));
    const list = (lines) => h("ul", {}, lines.map((line) => h("li", {}, line)));
    const shown = special.map((axis) => sentences[axis]).filter(Boolean);
    this.explained.replaceChildren(
      h("h2", {}, `These rules: ${title}`),
      ...(shown.length ? [h("h3", {}, "What is special here"), list(shown)] : []),
      ...(together.length ? [h("h3", {}, "Which means"), list(together)] : []),
      h("h3", {}, "The game"), list(plain.map((axis) => sentences[axis])),
      h("p", { class: "hint" }, h("code", {}, text)));
  }

  async #start(event) {
    event.preventDefault();
    if (this.busy) return;
    this.busy = true;
    const patience = setTimeout(() => { this.startButton.textContent = "One moment …"; }, PATIENCE);
    const { name, opponents, coach } = this.choice;
    try {
      const answer = await post("tables", { rules: rulesText(this.choice), opponents, name, coach });
      this.app.sitDown(answer);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (this.isWanted()) this.app.notice(error.message);
    } finally {
      clearTimeout(patience);
      this.startButton.textContent = DEAL;
      this.busy = false;
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
