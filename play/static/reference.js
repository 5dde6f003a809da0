/**
 * The quick reference of a rule set: one page, made to be printed.
 */

import { ApiError, get, post } from "./api.js";
import { button, field, h, select, sprite } from "./dom.js";
import { pref } from "./prefs.js";
import { chosenRules } from "./setup.js";

/** Characters from which a sheet is printed smaller, so that it is one page still. */
const LONG = 2300;

export async function referencePage(room, app) {
  const sheet = new Sheet(app);
  const menu = await app.menu();
  const offered = await offers(menu);
  const choice = select(offered, offered[0][0], (rules) => sheet.show(rules));
  room.append(h("div", { class: "reference" },
    h("h1", { tabindex: "-1" }, "Quick reference"),
    h("div", { class: "reference-bar" }, field("Rules of", choice),
      button("Print", () => window.print(), { class: "primary" })),
    sheet.element));
  await sheet.show(offered[0][0]);
}

/** The rules that concern the reader first: text and what to call them. */
async function offers(menu) {
  const presets = menu.presets.map(({ name }) => [name, name.replaceAll("-", " ")]);
  const served = menu.defaults.rules;
  const nearest = [
    [await rulesOfTheTable(), "the table you play at"],
    [chosenRules(menu), "the table you are choosing"],
    [presets.some(([name]) => name === served) ? null : served, "the table that is offered first"],
  ].filter(([rules]) => rules);
  if (nearest.length) return [...nearest, ...presets];
  return presets.toSorted(([one], [two]) => (two === served) - (one === served));
}

async function rulesOfTheTable() {
  if (!pref("table")) return null;
  const snapshot = await get(`tables/${pref("table")}`).catch(() => null);
  return snapshot?.rules.text ?? null;
}

class Sheet {
  constructor(app) {
    this.app = app;
    this.isWanted = app.visiting();
    this.element = h("article", { class: "sheet", "aria-live": "polite" });
  }

  /** Show the rules that were asked for last, whichever answer comes last. */
  async show(rules) {
    this.wanted = rules;
    try {
      const told = await post("explain", { rules });
      if (rules === this.wanted) this.#draw(told);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (this.isWanted()) this.app.notice(error.message, [["Try again", () => this.show(rules)]]);
    }
  }

  #draw({ text, reference: { title, sections } }) {
    this.element.replaceChildren(
      h("header", { class: "sheet-head" }, h("h2", {}, title), sprite("bird", "bird")),
      h("div", { class: "sheet-body" }, sections.map(({ heading, lines }) =>
        h("section", { class: "sheet-section" }, h("h3", {}, heading),
          h("ul", {}, lines.map((line) => h("li", {}, line)))))),
      h("p", { class: "hint" }, "Written for the computer: ", h("code", {}, text)));
    this.element.classList.toggle("sheet-long", this.element.textContent.length > LONG);
  }
}
