/**
 * Tells frames one after the other: the table moves, the sentence is written down and spoken.
 */

import { h } from "./dom.js";
import { pref } from "./prefs.js";

const PACES = { calm: 1, quick: 0.4, "at once": 0 };
const SHORT = { dealt: 280, revealed: 520, turned_up: 700, dealer_cut: 700, final_cut: 900 };
const [LEAST, A_CHARACTER, MOST] = [650, 17, 3800];

export const PACE_NAMES = Object.keys(PACES);

export class Teller {
  /**
   * @param {Stage} stage the table that is shown.
   * @param {Element} caption the sentence beneath it, for the eyes.
   * @param {Element} why what explains the sentence.
   * @param {Element} log everything told so far, which screen readers follow.
   */
  constructor(stage, { caption, why, log }) {
    Object.assign(this, { stage, caption, why, log });
    this.hurried = false;
    this.story = 0;
    this.wake = () => {};
  }

  /**
   * Tell frames, unless another story begins first; `before` may hold this one up.
   * @returns {Promise<boolean>} whether it was told to its end.
   */
  async tell(frames, before = async () => {}) {
    const story = this.stop();
    for (const frame of frames) {
      await before(frame);
      if (story !== this.story) return false;
      this.#show(frame);
      await this.#pause(frame);
    }
    return story === this.story;
  }

  /** The rest of what is being told is shown without waiting. */
  hurry() {
    this.hurried = true;
    this.wake();
  }

  /** Whatever is being told ends here. */
  stop() {
    this.story += 1;
    this.wake();
    return this.story;
  }

  #show(frame) {
    const still = this.hurried || pace() === 0;
    this.stage.update(frame.view, still ? null : frame);
    this.caption.textContent = frame.text;
    this.why.textContent = frame.why ?? "";
    const kind = frame.event === "round" ? "log-round" : null;
    this.log.append(h("p", { class: kind, "data-event": frame.event }, frame.text));
    if (frame.why && !this.#saysAgain(frame)) this.log.append(h("p", { class: "log-why" }, frame.why));
    this.last = frame;
    this.log.scrollTop = this.log.scrollHeight;
  }

  /** Several who lose at once lose for the same reason. */
  #saysAgain(frame) {
    return frame.why === this.last?.why;
  }

  async #pause(frame) {
    if (this.hurried || pace() === 0) return;
    const reading = LEAST + A_CHARACTER * (frame.text.length + (frame.why ?? "").length);
    const time = pace() * (SHORT[frame.event] ?? Math.min(reading, MOST));
    await new Promise((done) => {
      const timer = setTimeout(done, time);
      this.wake = () => { clearTimeout(timer); done(); };
    });
  }
}

function pace() {
  return PACES[pref("pace")] ?? 1;
}

/** What a round came to, gathered from its frames. */
export class RoundStory {
  constructor() {
    this.clear();
  }

  clear() {
    this.reveals = [];
    this.losses = [];
    this.tied = [];
    this.notes = [];
    this.view = null;
  }

  get isOver() {
    return this.reveals.length > 0;
  }

  take(frame) {
    if (frame.event === "round") this.clear();
    this.view = frame.view;
    if (frame.event === "revealed") this.reveals.push(frame);
    if (frame.event === "lost") (frame.stands ? this.losses : this.tied).push(frame);
    if (["final_tie", "final_cut", "carried", "out", "won", "truncated"].includes(frame.event)) {
      this.notes.push(frame);
    }
  }
}
