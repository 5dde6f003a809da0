/**
 * What the reader likes, what is chosen for the next table (a name too), and the code of the table one
 * sits at: kept until this tab is closed.
 */

const DEFAULTS = { pace: "calm", letters: "on", table: "", setup: "" };

export function pref(name) {
  return sessionStorage.getItem(`cuckoo.${name}`) ?? DEFAULTS[name];
}

export function setPref(name, value) {
  sessionStorage.setItem(`cuckoo.${name}`, value);
}

/** Whether things may move: the system's wish is respected. */
export function mayMove() {
  return !matchMedia("(prefers-reduced-motion: reduce)").matches;
}
