/**
 * Lessons: prepared positions, told step by step; now and then the learner is asked.
 */

import { get } from "./api.js";
import { button, h } from "./dom.js";
import { Stage } from "./stage.js";

export async function learnPage(room, app) {
  const { lessons } = await app.menu();
  room.append(
    h("h1", { tabindex: "-1" }, "Learn the game"),
    h("p", { class: "lead" }, "Prepared deals, one idea each. Nothing is counted; go back and forth as you like."),
    h("ul", { class: "shelf" }, lessons.map((lesson) => h("li", {},
      h("a", { href: `#learn/${lesson.id}` }, h("h3", {}, lesson.title), h("p", {}, lesson.intro))))),
    h("p", {}, "Then ", h("a", { href: "#new" }, "choose a table"), ", or print the ",
      h("a", { href: "#reference" }, "quick reference"), "."));
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
    this.onKey = (event) => this.#press(event);
    room.append(h("div", { class: "lesson" },
      h("div", { class: "table-bar" },
        h("div", {}, h("h1", { tabindex: "-1" }, lesson.title), h("p", { class: "hint" }, lesson.intro)),
        h("a", { class: "button", href: "#learn" }, "All lessons")),
      this.stage.element,
      h("section", { class: "desk panel", "aria-label": "The lesson" }, this.text, this.controls, this.progress)));
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
    this.controls.replaceChildren(...this.#drawControls(step, answer));
    this.progress.textContent = `Step ${this.at + 1} of ${this.lesson.steps.length}`;
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
    this.controls.querySelector(".primary")?.focus();
  }

  #press(event) {
    if (event.target.closest?.("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowRight" && (!this.step.ask || this.answers.has(this.at))) this.#go(1);
    if (event.key === "ArrowLeft") this.#go(-1);
  }
}

function capital(word) {
  return word[0].toUpperCase() + word.slice(1);
}
