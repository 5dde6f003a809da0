/**
 * The practice table in the browser: which page is shown, and what all pages share.
 */

import { ApiError, get, OFFLINE, PATIENCE } from "./api.js";
import { button, h } from "./dom.js";
import { learnPage, lessonPage } from "./learn.js";
import { leaveTable, playPage } from "./play.js";
import { pref, setPref } from "./prefs.js";
import { referencePage } from "./reference.js";
import { replayPage } from "./replay.js";
import { setupPage } from "./setup.js";

/**
 * Every page draws into an empty room, which is shown when it is furnished. It may return an object that is
 * told when its room is entered and left.
 */
const PAGES = {
  play: { show: (room, app) => (pref("table") ? playPage(room, app) : setupPage(room, app)), title: "Play" },
  new: { show: setupPage, title: "Choose a table", under: "play" },
  learn: { show: (room, app, id) => (id ? lessonPage(room, app, id) : learnPage(room, app)), title: "Learn" },
  reference: { show: referencePage, title: "Quick reference" },
  replay: { show: replayPage, title: "Replay", under: "play" },
};

/** How often it is asked whether the server is still there, in milliseconds. */
const WATCH = 10_000;

const main = document.querySelector("#main");
const notices = document.querySelector("#notices");

/** What pages may ask for. */
const app = {
  /** What the server offers; asked for once. */
  menu() {
    this.offered ??= get("menu").catch((error) => {
      this.offered = null;
      throw error;
    });
    return this.offered;
  },

  /** For a page that waits for an answer: whether it will still be the one that is wanted then. */
  visiting() {
    const mine = visit;
    return () => mine === visit;
  },

  /** A new table has answered: go there. */
  sitDown({ table, ...snapshot }) {
    setPref("table", table);
    this.fresh = snapshot;
    this.clearNotice();
    goTo("play");
  },

  /** The first answer of a new table, once. */
  takeFresh() {
    const { fresh } = this;
    this.fresh = null;
    return fresh;
  },

  tableIsGone() {
    setPref("table", "");
    leaveTable();
    const text = "This table is no longer there: the server was restarted, or nobody played for a long time.";
    this.notice(text, [["Choose a new table", () => goTo("new")]]);
  },

  /** Where the server is gone or has started again, that is said at once, not at the next click. */
  async watchServer() {
    if (document.hidden) return;
    const { run } = await get("server").catch(() => ({ run: null }));
    const was = this.run;
    this.run = run ?? was;
    if (run === null) this.missServer();
    else if (was && run !== was) this.meetNewServer();
    else if (this.missing) this.meetAgain();
    this.missing = run === null;
  },

  missServer() {
    if (this.missing) return;
    this.notice(OFFLINE, [["Try again", () => {
      this.missing = false;
      this.watchServer();
    }]]);
  },

  meetAgain() {
    this.clearNotice();
    this.drawAgain();
  },

  /** What could not be drawn while the server was gone. */
  drawAgain() {
    if (failed) show();
  },

  /** A server that has started anew may offer something else, and knows no table from before. */
  async meetNewServer() {
    this.offered = null;
    const id = pref("table");
    const gone = id && await get(`tables/${id}`).then(() => false, ({ code }) => code === "unknown-table");
    if (!gone) {
      this.meetAgain();
      return;
    }
    this.tableIsGone();
    this.drawAgain();
  },

  /** Say what went wrong, and what can be done. */
  notice(text, ways = [["Close", () => {}]]) {
    notices.replaceChildren(h("div", { class: "notice" }, h("p", {}, text),
      ways.map(([label, go]) => button(label, () => {
        this.clearNotice();
        go();
      }))));
  },

  clearNotice() {
    notices.replaceChildren();
  },
};

let shown = null;
let visit = 0;
/** Whether the page that is shown could not be drawn. */
let failed = false;

function goTo(page) {
  if (location.hash === `#${page}`) show();
  else location.hash = page;
}

/** The page that the address names, and what of it; the table where it names none. */
function addressed() {
  const [name, argument] = location.hash.slice(1).split("/");
  return Object.hasOwn(PAGES, name) ? [name, argument] : ["play"];
}

async function show() {
  const [name, argument] = addressed();
  visit += 1;
  const isWanted = app.visiting();
  const room = h("div", { class: "room" });
  let page = null;
  failed = false;
  const patience = setTimeout(() => isWanted() && wait(), PATIENCE);
  try {
    page = await PAGES[name].show(room, app, argument);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (!isWanted()) return;
    failed = true;
    explain(error, room);
  } finally {
    clearTimeout(patience);
  }
  if (isWanted()) open(room, page, name, argument);
}

/** Say that the page takes its time. */
function wait() {
  shown?.leave?.();
  shown = null;
  main.replaceChildren(h("p", { class: "waiting", role: "status" }, "One moment: this is being made ready …"));
}

function open(room, page, name, argument) {
  shown?.leave?.();
  shown = page;
  mark(PAGES[name].under ?? name);
  document.title = `${PAGES[name].title} · Cuckoo: the practice table`;
  main.replaceChildren(room);
  main.dataset.page = argument ? `${name}/${argument}` : name;
  shown?.enter?.();
  window.scrollTo(0, 0);
  room.querySelector("h1")?.focus({ preventScroll: true });
}

function explain(error, room) {
  if (error.code === "unknown-table") app.tableIsGone();
  else app.notice(error.message, [["Try again", show]]);
  room.replaceChildren(h("h1", { tabindex: "-1" }, "The table is empty"),
    h("p", {}, "There is nothing to show here just now. ", h("a", { href: "#new" }, "Choose a table"), "."));
}

function mark(name) {
  for (const link of document.querySelectorAll("nav [data-page]")) {
    if (link.dataset.page === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
for (const link of document.querySelectorAll("nav a, .brand")) {
  // Going to where one is shows it anew: the table may be another one by now.
  link.addEventListener("click", () => location.hash === link.hash && show());
}
window.addEventListener("hashchange", show);
document.addEventListener("visibilitychange", () => app.watchServer());
setInterval(() => app.watchServer(), WATCH);
app.watchServer();
show();
