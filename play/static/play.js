/**
 * The table at which the person plays: told frame by frame, decided with buttons or letters.
 */

import { ApiError, PATIENCE, get, post } from "./api.js";
import { cardName, cardSymbol, drawCard } from "./cards.js";
import { drawAdvice, drawCostliest, drawNoAdvice } from "./coach.js";
import { button, capital, counted, field, h, isForPage, listed, select, setToggle, toggle } from "./dom.js";
import { mayMove, pref, setPref } from "./prefs.js";
import { drawLives, Stage } from "./stage.js";
import { PACE_NAMES, RoundStory, Teller } from "./teller.js";

/** What the buttons say, the letter that presses them, and a word of help where it is needed. */
const ACTIONS = {
  keep: { label: "Keep", letter: "k" },
  swap: { label: "Swap", letter: "s" },
  accept: { label: "Accept", letter: "a", help: "swap cards" },
  show: { label: "Show", letter: "h", help: "your card, to block" },
  pay: { label: "Pay", letter: "p", help: "a life, to refuse" },
};
const ON = "n";

/** The page of the table at which the person sits; it goes on where it was left. */
let kept = null;

export async function playPage(room, app) {
  const isWanted = app.visiting();
  const id = pref("table");
  const fresh = app.takeFresh();
  if (kept?.id !== id) {
    const snapshot = fresh ?? (await get(`tables/${id}`));
    kept?.teller.stop();
    kept = new PlayPage(id, snapshot, app);
    kept.isWanted = isWanted;
    kept.receive(snapshot, { known: !fresh });
  } else {
    kept.isWanted = isWanted;
    kept.lookAgain();
  }
  room.append(...kept.parts);
  return kept;
}

/** The table is no longer there: nothing more is told of it. */
export function leaveTable() {
  kept?.teller.stop();
  kept = null;
}

class PlayPage {
  constructor(id, snapshot, app) {
    Object.assign(this, { id, app });
    this.onKey = (event) => this.#press(event);
    this.onReturn = () => document.hidden || this.lookAgain();
    this.#build(snapshot);
  }

  enter() {
    document.addEventListener("keydown", this.onKey);
    document.addEventListener("visibilitychange", this.onReturn);
    this.log.scrollTop = this.log.scrollHeight;
  }

  leave() {
    document.removeEventListener("keydown", this.onKey);
    document.removeEventListener("visibilitychange", this.onReturn);
  }

  // The page

  #build(snapshot) {
    const you = snapshot.players.find((player) => player.you).seat;
    this.you = you;
    this.names = snapshot.players.map((player) => (player.you ? "You" : player.name));
    this.stage = new Stage(snapshot.players, { you, label: "The table" });
    this.caption = h("p", { class: "caption", "aria-hidden": "true" });
    this.why = h("p", { class: "caption-why", "aria-hidden": "true" });
    this.controls = h("div", { class: "controls" });
    this.status = h("p", { class: "sr", role: "status" });
    this.log = h("div", {
      class: "log", role: "log", "aria-live": "polite", "aria-label": "What happened", tabindex: "0",
    });
    this.coachBody = h("div", { class: "coach-body", "aria-live": "polite" });
    this.teller = new Teller(this.stage, this);
    this.story = new RoundStory();
    this.desk = h("section", { class: "desk panel", "aria-label": "Your move" },
      this.caption, this.why, this.controls, this.status);
    this.parts = [
      this.#drawBar(snapshot),
      h("div", { class: "play" },
        h("div", { class: "play-main" }, this.stage.element, this.desk),
        h("div", { class: "play-side" }, this.#drawCoach(snapshot),
          h("section", { class: "panel" }, h("h2", {}, "What happened"), this.log)))];
  }

  #drawBar(snapshot) {
    return h("div", { class: "table-bar" },
      h("div", {},
        h("h1", { tabindex: "-1" }, "The table"),
        h("p", { class: "hint" }, `Against ${against(snapshot.players)} · `,
          h("a", { href: "#reference", title: snapshot.rules.text }, `rules: ${snapshot.rules.title}`))),
      this.#drawOptions());
  }

  #drawOptions() {
    const pace = select(PACE_NAMES.map((name) => [name, name]), pref("pace"), (value) => {
      setPref("pace", value);
      this.teller.wake();
    });
    const options = h("details", {
      class: "options",
      onfocusout: ({ relatedTarget }) => {
        if (relatedTarget && !options.contains(relatedTarget)) options.open = false;
      },
      onkeydown: (event) => {
        if (event.key !== "Escape") return;
        options.open = false;
        options.querySelector("summary").focus();
      },
    },
    h("summary", {}, "Options"),
    h("div", { class: "options-list panel" },
      field("Pace of the telling", pace),
      toggle("Letter keys", pref("letters") === "on", (on) => setPref("letters", on ? "on" : "off")),
      button("Start over", () => {
        options.open = false;
        this.#startOver();
      }),
      h("a", { class: "button", href: "#new" }, "Choose another table")));
    return options;
  }

  #drawCoach(snapshot) {
    this.coachSwitch = toggle("", snapshot.coach, (on) => this.#say("coach", { on }), { "aria-label": "Coach" });
    return h("section", { class: "panel coach", "aria-label": "Coach" },
      h("div", { class: "coach-head" }, h("h2", {}, "Coach"), this.coachSwitch),
      this.coachBody);
  }

  // Talking to the server

  async #say(verb, message) {
    if (this.busy) {
      setToggle(this.coachSwitch, this.snapshot.coach);
      return;
    }
    try {
      const answer = await this.#send(verb, message);
      this.app.clearNotice();
      await this.receive(answer, {
        silent: verb === "coach", hurry: message.how === "end", anew: verb === "restart",
      });
    } catch (error) {
      await this.#fail(error);
    }
  }

  /** One message at a time: until it is answered no other is sent. */
  async #send(verb, message) {
    this.busy = true;
    const said = [...this.coachBody.childNodes];
    const waiting = verb === "act" ? setTimeout(() => this.#showThinking(), PATIENCE) : null;
    try {
      return await post(`tables/${this.id}/${verb}`, { turn: this.snapshot.turn, ...message });
    } catch (error) {
      this.coachBody.replaceChildren(...said);
      throw error;
    } finally {
      clearTimeout(waiting);
      this.busy = false;
    }
  }

  /** A stale or refused message changes nothing: show where the table stands. */
  async #fail(error) {
    if (!(error instanceof ApiError)) throw error;
    if (["unknown-table", "offline"].includes(error.code)) this.#miss(error);
    else if (await this.#catchUp() && this.isWanted()) this.app.notice(error.message);
  }

  /** Nobody can say where the table stands; whoever is elsewhere hears of it on coming back. */
  #miss(error) {
    if (!(error instanceof ApiError)) throw error;
    if (!this.isWanted()) return;
    if (error.code === "unknown-table") this.app.tableIsGone();
    else this.app.notice(error.message, [["Try again", () => this.#catchUp()]]);
  }

  /** Whoever comes back to the page is told if the table is gone or has moved on. */
  lookAgain() {
    if (!this.busy) this.#catchUp();
  }

  /** Learn where the table stands, and whether anybody says so. What has been told is not told again. */
  async #catchUp() {
    try {
      const snapshot = await get(`tables/${this.id}`);
      this.app.clearNotice();
      // Whoever has moved meanwhile has a newer answer, or gets one.
      if (this.busy || snapshot.turn < this.snapshot.turn) return true;
      if (snapshot.turn === this.snapshot.turn) this.#stay(snapshot);
      else await this.receive(snapshot, { known: true });
      return true;
    } catch (error) {
      this.#miss(error);
      return false;
    }
  }

  /** The table has not moved on: at most the coach was switched. */
  #stay(snapshot) {
    this.snapshot = snapshot;
    setToggle(this.coachSwitch, snapshot.coach);
  }

  // Telling

  async receive(snapshot, { known = false, silent = false, hurry = false, anew = false } = {}) {
    this.snapshot = snapshot;
    setToggle(this.coachSwitch, snapshot.coach);
    if (anew) this.coachBody.replaceChildren();
    this.#showAdvice(snapshot);
    if (silent) {
      // What a game came to includes what the coach says of it, once it has been told.
      if (this.controls.dataset.state === "over") this.#showControls();
      return;
    }
    if (anew) {
      this.log.replaceChildren();
      this.story.clear();
    }
    this.teller.hurried = known || hurry;
    this.#showWaiting();
    const holdUp = known || hurry ? undefined : (frame) => this.#betweenRounds(frame);
    const toTheEnd = await this.teller.tell(snapshot.frames, async (frame) => {
      await holdUp?.(frame);
      this.story.take(frame);
    });
    if (!toTheEnd) return;
    this.teller.hurried = false;
    this.stage.update(snapshot.view);
    this.#hushCaption();
    this.#showControls();
  }

  async #betweenRounds(frame) {
    if (frame.event !== "round" || !this.story.isOver) return;
    await new Promise((done) => {
      this.#setControls("round", this.#drawRound(this.story),
        h("div", { class: "actions" }, this.#key(button("Next round", done, { class: "primary" }), ON)));
    });
    this.teller.hurried = false;
    this.#showWaiting();
  }

  #showWaiting() {
    this.#setControls("telling",
      h("div", { class: "actions" }, this.#key(button("Show at once", () => this.teller.hurry()), ON)));
  }

  /** What has been told stays in the log; beneath the table is now what can be done. */
  #hushCaption() {
    this.caption.textContent = "";
    this.why.textContent = "";
  }

  // What can be done

  #showControls() {
    const { phase } = this.snapshot;
    if (phase === "decide") this.#showDecision();
    else if (phase === "watch") this.#showWatching();
    else this.#showResults();
  }

  #showDecision() {
    const { legal, view, hints } = this.snapshot;
    // What the coach said is of another card than the one that is held now.
    this.coachBody.classList.add("coach-past");
    this.#setControls("decide",
      h("h2", { class: "prompt", tabindex: "-1" }, promptOf(view, this.you, this.names)),
      h("div", { class: "actions", role: "group", "aria-label": "Your choices" },
        legal.map((action) => this.#drawAction(action, hints[action]))));
  }

  #drawAction(action, hint) {
    const { label, letter, help = hint } = ACTIONS[action];
    const control = button(label, () => this.#say("act", { action }), {
      class: "primary", "data-action": action,
    });
    this.#key(control, letter);
    if (help) control.append(" ", h("span", { class: "action-hint" }, help));
    return control;
  }

  /** Let a letter press a button, and say so on it. */
  #key(control, letter) {
    control.dataset.letter = letter;
    control.setAttribute("aria-keyshortcuts", letter);
    control.append(h("kbd", { "aria-hidden": "true" }, letter.toUpperCase()));
    return control;
  }

  #showWatching() {
    this.#setControls("watch",
      h("h2", { class: "prompt", tabindex: "-1" }, "You are out. Watch the others, or start again."),
      h("div", { class: "actions" },
        this.#key(button("Watch on", () => this.#say("watch", { how: "go" }), { class: "primary" }), ON),
        button("Show the end", () => this.#say("watch", { how: "end" })),
        button("Start over", () => this.#say("restart", {}))));
  }

  #showResults() {
    const { results } = this.snapshot;
    this.#setControls("over",
      h("div", { class: "result" },
        h("h2", { class: "prompt outcome", tabindex: "-1" }, this.#outcomeText(results)),
        results.payoffs ? h("p", {}, this.#payoffsText(results.payoffs)) : null,
        this.story.isOver ? this.#drawRound(this.story, { heading: "h3" }) : null,
        results.decisions ? h("section", { "aria-label": "Your costliest decisions" },
          h("h3", {}, "Your costliest decisions"), drawCostliest(results)) : null,
        this.#drawRounds(results.rounds)),
      h("div", { class: "actions" },
        this.#key(button("Play again", () => this.#say("restart", {}), { class: "primary" }), ON),
        h("a", { class: "button", href: "#replay" }, "Replay step by step"),
        h("a", { class: "button", href: `/api/tables/${this.id}/record`, download: "cuckoo-record.json" },
          "Download the record")));
  }

  /** Who lost what in every round. */
  #drawRounds(rounds) {
    const told = ({ seat, count, card }) => `${this.names[seat]} −${count} (${cardSymbol(card)})`;
    const nothing = (tied) => (tied ? "a tie" : "nobody lost a life");
    return h("details", { class: "rounds" }, h("summary", {}, "Every round"),
      h("ol", {}, rounds.map(({ lost, tied }) => h("li", {}, listed(lost.map(told)) || nothing(tied)))));
  }

  /** What everybody won or lost of the stakes. */
  #payoffsText(payoffs) {
    const told = payoffs.map((payoff, seat) => `${this.names[seat]} ${signed(payoff)}`);
    return `Of the stakes: ${told.join(", ")}.`;
  }

  #outcomeText({ winners, rounds }) {
    const after = `after ${counted(rounds.length, "round", "rounds")}`;
    if (!winners.length) return `Nobody wins, ${after}.`;
    const names = listed(winners.map((seat) => (seat === this.you ? "you" : this.names[seat])));
    const verb = winners.length > 1 || winners[0] === this.you ? "win" : "wins";
    return capital(`${names} ${verb}${winners.length > 1 ? " together" : ""}, ${after}.`);
  }

  /** Who lost what in a round, and why; everybody's lives. */
  #drawRound(story, { heading = "h2" } = {}) {
    this.#hushCaption();
    return h("div", { class: "result", "data-round": story.view.round },
      h(heading, { class: heading === "h2" ? "prompt" : null, tabindex: "-1" },
        `Round ${story.view.round}: ${this.#lossesText(story)}`),
      this.#explainRound(story),
      h("ul", { class: "standings", "aria-label": "Everybody's cards and lives" },
        story.view.seats.map((seat, at) => this.#drawStanding(seat, at, story))));
  }

  /** What else came of the round, and why; that a loss does not stand needs explaining first. */
  #explainRound({ tied, losses, notes }) {
    const said = (list) => (list.length ? h("p", {}, list.map((frame) => frame.text).join(" ")) : null);
    // Those who lose alike lose for the same reason.
    const whys = new Set([...losses, ...notes].map((frame) => frame.why).filter(Boolean));
    const explain = (kind) => [...whys].map((why) => h("p", { class: kind }, why));
    if (tied.length) return [explain(null), said(notes.filter((frame) => !frame.why))];
    return [said(notes), explain("whys")];
  }

  /** Who loses how much; those who lose as much are told together. What does not stand is not lost. */
  #lossesText({ losses, tied, notes }) {
    if (tied.length) return notes.find((frame) => frame.event === "final_tie").text;
    const counts = [...new Set(losses.map((frame) => frame.count))];
    return counts.map((count) => {
      const alike = losses.filter((frame) => frame.count === count);
      if (alike.length === 1) return alike[0].text;
      const names = listed(alike.map((frame) => this.names[frame.seat]));
      return `${names} each lose ${count === 1 ? "a life" : `${count} lives`}.`;
    }).join(" ") || "nobody loses a life.";
  }

  #drawStanding(seat, at, story) {
    const reveal = story.reveals.findLast((frame) => frame.seat === at);
    const loss = story.losses.find((frame) => frame.seat === at);
    const tied = story.tied.some((frame) => frame.seat === at);
    return h("li", {
      class: `standing${loss ? " standing-loses" : ""}${seat.in ? "" : " standing-out"}`, "data-seat": at,
    },
    reveal ? drawCard(reveal.card) : null,
    h("span", { class: "standing-name" }, this.names[at], loss ? ` −${loss.count}` : null),
    h("span", { class: "lives" }, drawLives(seat), seat.in ? null : h("span", { class: "standing-note" }, "out")),
    tied ? h("span", { class: "standing-tied" }, "tied") : null);
  }

  // The rest

  #showAdvice({ advice, coach, unadvised }) {
    if (advice || unadvised) this.coachBody.classList.remove("coach-past");
    if (unadvised) this.coachBody.replaceChildren(drawNoAdvice());
    else if (advice) this.coachBody.replaceChildren(drawAdvice(advice));
    else if (!coach) this.coachBody.replaceChildren(h("p", { class: "hint" }, "The coach is silent."));
    else if (!this.coachBody.querySelector(".advice")) {
      this.coachBody.replaceChildren(h("p", { class: "hint" },
        "After each of your decisions you are told what every choice was worth, and why."));
    }
  }

  /** The first answer at a new kind of table may have to wait for what the coach prepares. */
  #showThinking() {
    if (!this.snapshot.coach) return;
    this.coachBody.replaceChildren(h("p", { class: "hint" }, "The coach is working it out …"));
  }

  #startOver() {
    const question = "Start a new game? The one on the table ends here.";
    if (this.snapshot.phase !== "over" && !confirm(question)) return;
    this.#say("restart", {});
  }

  /** New controls; the focus follows if it was on the old ones, else what they ask is spoken. */
  #setControls(state, ...children) {
    const here = this.controls.contains(document.activeElement) || document.activeElement === document.body;
    this.controls.dataset.state = state;
    this.controls.replaceChildren(...children);
    const prompt = this.controls.querySelector(".prompt");
    this.status.textContent = here || !prompt ? "" : prompt.textContent;
    if (here) (prompt ?? this.controls.querySelector("button"))?.focus({ preventScroll: true });
    if (prompt) this.desk.scrollIntoView({ block: "nearest", behavior: mayMove() ? "smooth" : "auto" });
  }

  #press(event) {
    if (pref("letters") !== "on" || event.repeat || !isForPage(event)) return;
    const control = this.controls.querySelector(`[data-letter="${CSS.escape(event.key.toLowerCase())}"]`);
    if (!control) return;
    event.preventDefault();
    control.click();
  }
}

/** Who plays against the person: short enough for a phone. */
function against(players) {
  const others = players.filter((player) => !player.you);
  return others.length > 3 ? `${others.length} opponents` : listed(others.map(({ name }) => name));
}

/** What somebody won or lost: +0.5, −2. */
function signed(sum) {
  return `${sum < 0 ? "−" : "+"}${Number(Math.abs(sum).toFixed(2))}`;
}

function promptOf(view, you, names) {
  const card = view.seats[you].card;
  const hold = card ? `You hold the ${cardName(card)}.` : "";
  return view.turn === you ? `Your turn. ${hold}` : `${names[view.turn]} asks you to swap. ${hold}`;
}
