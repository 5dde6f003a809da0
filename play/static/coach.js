/**
 * The coach's word on a decision: what each action was worth, and why.
 */

import { capital, h, spoken } from "./dom.js";

/** A win share in per cent: 0.4213 is "42.1 %". */
function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

/** A difference of win shares, in points: 0.0213 is "2.1 points". */
function points(share) {
  const text = (100 * share).toFixed(1);
  return `${text} ${text === "1.0" ? "point" : "points"}`;
}

/** What every action was worth, as bars and figures. */
function drawWorths(advice) {
  const worths = Object.entries(advice.worth);
  return h("ul", { class: "worths" }, worths.map(([action, share]) => {
    const bar = h("span", {});
    bar.style.setProperty("--share", `${100 * share}%`);
    return h("li", {
      class: `worth${action === advice.best ? " worth-best" : ""}`,
      "data-action": action, "data-share": share,
    },
    h("span", {}, capital(action), action === advice.action ? " (your choice)" : null),
    h("span", { class: "worth-value" }, percent(share), spoken(" of the wins")),
    h("span", { class: "worth-bar", "aria-hidden": "true" }, bar));
  }));
}

/** One line: the best choice, or what the choice cost. */
function drawVerdict(advice) {
  if (advice.clear) {
    return h("p", { class: "verdict verdict-cost" },
      `${capital(advice.best)} was better by ${points(advice.cost)}.`);
  }
  const text = advice.action === advice.best ? "The best choice" : "As good as the best choice";
  return h("p", { class: "verdict verdict-best" },
    `${text}${advice.exact ? "" : ", as far as the samples tell"}.`);
}

/** How sure the figures are. */
function drawSureness(advice) {
  return h("p", { class: "hint" }, advice.exact
    ? "Exact: your share of the wins against these opponents, if you play your best from here on."
    : `Sampled, with a standard error of ${points(advice.error)}: your share of the wins against `
      + `these opponents, if you then play on as ${advice.afterwards} does.`);
}

export function drawAdvice(advice) {
  return h("div", { class: "advice", "data-exact": String(advice.exact), "data-cost": advice.cost },
    h("p", { class: "advice-when" }, advice.when), drawVerdict(advice), drawWorths(advice),
    h("p", { class: "advice-why" }, advice.why), drawSureness(advice));
}

/** Said where nothing can be said of a decision. */
export function drawNoAdvice() {
  return h("p", { class: "hint" }, "No advice on this decision: no deal was found from which these "
    + "opponents would have played as they did.");
}

/** The decisions that cost most, worst first, and of how many the coach can say so. */
export function drawCostliest({ judged, decisions, costliest }) {
  if (!judged) return h("p", {}, "The coach judged none of your decisions.");
  const part = judged < decisions
    ? h("p", { class: "hint" }, `The coach judged ${judged} of your ${decisions} decisions.`) : null;
  return [part, costliest.length ? drawDecisions(costliest) : h("p", {}, part
    ? "None of these clearly cost anything."
    : "No decision of yours clearly cost anything: well played.")];
}

function drawDecisions(decisions) {
  return h("ol", { class: "costliest" }, decisions.map((each) => h("li", {},
    h("p", {}, h("strong", {}, each.when), `: you chose ${each.action}; ${each.best} was better by `,
      h("span", { class: "cost" }, points(each.cost)), "."),
    h("p", { class: "hint" }, each.why))));
}
