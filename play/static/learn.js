/**
 * Lessons: prepared positions, told step by step; now and then the learner is asked.
 */

import { get } from "./api.js";
import { drawCard } from "./cards.js";
import { arrowKeys, button, capital, h, isForPage } from "./dom.js";
import { Stage } from "./stage.js";

/** A card for every lesson: what it is about, or what plays a part in it. */
const CARDS = {
  swap: "As", king: "Kc", dealer: "4d", "next-deal": "2h", tie: "9d", "tie-for-lowest": "3s", "last-lives": "5c",
};

export async function learnPage(room, app) {
  const { lessons } = await app.menu();
  room.append(
    h("h1", { tabindex: "-1" }, "Learn the game"),
    h("p", { class: "lead" }, "Prepared deals, one idea each. Nothing is counted; go back and forth as you like."),
    h("ol", { class: "shelf" }, lessons.map(drawEntry)),
    h("p", {}, "Then ", h("a", { href: "#new" }, "choose a table"), ", or print the ",
      h("a", { href: "#reference" }, "quick reference"), "."));
}

function drawEntry({ id, title, intro }, at) {
  return h("li", {}, h("a", { href: `#learn/${id}` },
    h("div", { class: "shelf-card", "aria-hidden": "true" }, drawCard(CARDS[id] ?? null)),
    h("div", {}, h("h2", {}, `${at + 1}. ${title}`), h("p", {}, intro))));
}

export async function lessonPage(room, app, id) {
  const [lesson, { lessons }] = await Promise.all([get(`lessons/${id}`), app.menu()]);
  const at = lessons.findIndex((each) => each.id === id);
  return new LessonPage(room, lesson, lessons[at + 1]);
}

class LessonPage {
  constructor(room, lesson, following) {
    Object.assign(this, { lesson, following });
    this.at = 0;
    this.answers = new Map();
    this.stage = new Stage(lesson.players, { you: lesson.players.find((each) => each.you)?.seat ?? 0 });
    this.text = h("div", { "aria-live": "polite" });
    this.controls = h("div", { class: "actions" });
    this.progress = h("p", { class: "progress" });
    this.desk = h("section", { class: "desk panel", "aria-label": "The lesson" }, this.text,
      h("div", { class: "desk-foot" }, this.controls, this.progress));
    this.onKey = (event) => this.#press(event);
    room.append(h("div", { class: "lesson" },
      h("div", { class: "table-bar" },
        h("div", {}, h("h1", { tabindex: "-1" }, lesson.title), h("p", { class: "hint" }, lesson.intro)),
        h("a", { class: "button", href: "#learn" }, "All lessons")),
      this.stage.element,
      this.desk));
    this.#show(null);
  }

  enter() {
    document.addEventListener("keydown", this.onKey);
  }

  leave() {
    document.removeEventListener("keydown", this.onKey);
  }

  get step() {
    return this.lesson.steps[this.at];
  }

  #go(by) {
    const before = this.at;
    this.at = Math.min(Math.max(this.at + by, 0), this.lesson.steps.length - 1);
    this.#show(this.at > before ? this.step : null);
  }

  #show(moves) {
    const { step } = this;
    if (step.view) this.stage.update(step.view, moves);
    const answer = this.answers.get(this.at);
    this.text.replaceChildren(
      h("p", { class: "lesson-text" }, step.text),
      step.why ? h("p", { class: "caption-why" }, step.why) : "",
      step.ask ? h("p", { class: "prompt" }, h("strong", {}, step.ask)) : "",
      answer ? h("p", { class: "lesson-answer" }, step.answers[answer]) : "");
    const here = this.controls.contains(document.activeElement);
    this.controls.replaceChildren(...this.#drawControls(step, answer));
    if (here) this.controls.querySelector(".primary").focus({ preventScroll: true });
    this.progress.replaceChildren(`Step ${this.at + 1} of ${this.lesson.steps.length} `, arrowKeys());
    this.desk.scrollIntoView({ block: "end" });
  }

  #drawControls(step, answer) {
    const back = button("Back", () => this.#go(-1), { disabled: this.at === 0, class: "back" });
    const choices = step.ask ? step.legal.map((action) => this.#drawChoice(action, step.hints[action], answer)) : [];
    return [back, ...choices, ...(step.ask && !answer ? [] : [this.#drawNext()])];
  }

  /** Every answer may be tried, one after the other. */
  #drawChoice(action, hint, answer) {
    const control = button(capital(action), () => this.#answer(action), {
      class: answer ? null : "primary", "data-action": action, "aria-pressed": String(action === answer),
    });
    if (hint) control.append(" ", h("span", { class: "action-hint" }, hint));
    return control;
  }

  #drawNext() {
    if (this.at < this.lesson.steps.length - 1) {
      return button("Next", () => this.#go(1), { class: "primary" });
    }
    return this.following
      ? h("a", { class: "button primary", href: `#learn/${this.following.id}` }, `Next: ${this.following.title}`)
      : h("a", { class: "button primary", href: "#new" }, "Play");
  }

  #answer(action) {
    this.answers.set(this.at, action);
    this.#show(null);
  }

  #press(event) {
    if (!isForPage(event)) return;
    if (event.key === "ArrowRight" && (!this.step.ask || this.answers.has(this.at))) this.#go(1);
    if (event.key === "ArrowLeft") this.#go(-1);
  }
}
