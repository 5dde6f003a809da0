/**
 * Elements without markup: text only ever becomes text nodes, so no name can turn into code.
 */

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element: `h("p", {class: "note", onclick: f}, "text", child)`. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** An SVG element, likewise. */
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== false));
  return element;
}

/** A picture from the page's own sprites, for the eyes only. */
export function sprite(id, className) {
  return s("svg", { class: className, "aria-hidden": "true", focusable: "false" },
    s("use", { href: `#${id}` }));
}

/** Text for screen readers alone. */
export function spoken(text) {
  return h("span", { class: "sr" }, text);
}

export function button(label, onclick, props = {}) {
  return h("button", { type: "button", onclick, ...props }, label);
}

/** That the arrow keys go back and on, where there are such keys. */
export function arrowKeys() {
  return h("span", { "aria-hidden": "true" }, h("kbd", {}, "←"), h("kbd", {}, "→"));
}

/** Whether a key was pressed for the page: alone, and not where somebody writes or chooses. */
export function isForPage(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  return !event.target.closest?.("input, select, textarea");
}

let lastId = 0;

/** A name for an element that another one refers to. */
export function freshId(stem) {
  lastId += 1;
  return `${stem}-${lastId}`;
}

/** A label around a control, with a hint below it that belongs to it. */
export function field(label, control, hint = null) {
  const id = freshId("field");
  control.id = id;
  if (hint) {
    hint.id = `${id}-hint`;
    control.setAttribute("aria-describedby", hint.id);
  }
  return h("div", { class: "field" }, h("label", { for: id }, label), control, hint);
}

export function select(options, value, onchange) {
  const control = h("select", { onchange: () => onchange(control.value) },
    options.map(([each, text]) => h("option", { value: each }, text)));
  control.value = value;
  return control;
}

/** A switch that is on or off; `setToggle` moves it. */
export function toggle(label, on, onchange, props = {}) {
  const control = h("button", {
    type: "button", role: "switch", class: "switch", ...props,
    onclick: () => {
      const now = control.getAttribute("aria-checked") !== "true";
      setToggle(control, now);
      onchange(now);
    },
  }, h("span", { class: "switch-knob", "aria-hidden": "true" }), h("span", { class: "switch-label" }, label));
  setToggle(control, on);
  return control;
}

export function setToggle(control, on) {
  control.setAttribute("aria-checked", String(on));
}

/** "Ann", "Ann and Bob", "Ann, Bob and Cid". */
export function listed(words) {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

export function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

export function counted(number, one, several) {
  return `${number} ${number === 1 ? one : several}`;
}
