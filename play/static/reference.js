/**
 * The quick reference of a rule set: one page, made to be printed.
 */

import { get, post } from "./api.js";
import { button, field, h, select, sprite } from "./dom.js";
import { pref } from "./prefs.js";

const CURRENT = "";

export async function referencePage(room, app) {
  const menu = await app.menu();
  const current = await rulesOfTheTable();
  const sheet = h("article", { class: "sheet", "aria-live": "polite" });
  const show = async (rules) => sheet.replaceChildren(...drawSheet((await post("explain", { rules })).reference));
  const first = current ?? menu.defaults.rules;
  const options = [[CURRENT, current ? "the table you play at" : "the practice table"],
    ...menu.presets.map(({ name }) => [name, name.replaceAll("-", " ")])];
  const choice = select(options, CURRENT, (name) => show(name || first));
  room.append(
    h("div", { class: "reference-bar" }, field("Rules of", choice),
      button("Print", () => window.print(), { class: "primary" })),
    sheet);
  await show(first);
}

async function rulesOfTheTable() {
  if (!pref("table")) return null;
  const snapshot = await get(`tables/${pref("table")}`).catch(() => null);
  return snapshot?.rules.text ?? null;
}

function drawSheet({ title, sections }) {
  return [
    h("header", { class: "sheet-head" }, h("h1", { tabindex: "-1" }, title), sprite("bird", "bird")),
    h("div", { class: "sheet-body" }, sections.map(({ heading, lines }) =>
      h("section", { class: "sheet-section" }, h("h2", {}, heading),
        h("ul", {}, lines.map((line) => h("li", {}, line)))))),
  ];
}
