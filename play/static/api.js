/**
 * Talking to the server: JSON there, JSON back, and one kind of error for everything that fails.
 */

export const OFFLINE = "The table's server does not answer. It may have been stopped.";
/** Milliseconds after which it is said that an answer takes its time, as the first game on a machine does. */
export const PATIENCE = 400;

/** What went wrong: `code` for the page, `message` for the person. */
export class ApiError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** Ask for something. */
export function get(path) {
  return send(path, { method: "GET" });
}

/** Say something. */
export function post(path, message) {
  return send(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(message),
  });
}

async function send(path, options) {
  let answer;
  try {
    answer = await fetch(`/api/${path}`, { cache: "no-store", ...options });
  } catch {
    throw new ApiError("offline", OFFLINE);
  }
  const content = await answer.json().catch(() => null);
  if (answer.ok && content !== null) return content;
  const { code, message } = content?.error ?? {};
  throw new ApiError(code ?? "broken", message ?? `The server answered with status ${answer.status}.`);
}
