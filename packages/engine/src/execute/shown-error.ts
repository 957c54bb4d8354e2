// How an error that a program did not catch is told: what it said, where in the code, and what there is instead.

/** What stands around the code, which is the body of a function; its first line is line 1. */
export const programStart = "(async function(){";
export const programEnd = "\n})";
export const programFile = "program.js";

const instead: Readonly<Record<string, string>> = {
  setTimeout: "There are no timers here",
  setInterval: "There are no timers here",
  setImmediate: "There are no timers here",
  fetch: "There is no network here",
  XMLHttpRequest: "There is no network here",
  WebSocket: "There is no network here",
  require: "There are no modules here",
  module: "There are no modules here",
  process: "There is no process here",
  Buffer: "There are no Node globals here",
  WebAssembly: "There is no WebAssembly here",
  SharedArrayBuffer: "There is no shared memory here",
  Atomics: "There is no shared memory here",
  WeakRef: "There are no weak references here",
  FinalizationRegistry: "There are no weak references here",
  URL: "There is no URL here: use encodeURIComponent and strings",
  URLSearchParams: "There is no URLSearchParams here: use encodeURIComponent and strings",
  TextEncoder: "There is no TextEncoder here: use strings",
  structuredClone: "There is no structuredClone here: use JSON.parse(JSON.stringify(it))",
};

/** `said` is `Name: message`; `stack` the guest's own. */
export function shownError(said: string, stack: string, namespaces: readonly string[]): string {
  const places = stack
    .split("\n")
    .map((line) => /program\.js:(\d+):(\d+)/.exec(line))
    .filter((place) => place !== null)
    .slice(0, 3)
    .map(([, line, column]) => {
      const before = line === "1" ? programStart.length : 0;
      return `line ${line}:${Math.max(1, Number(column) - before)}`;
    });
  const where = places.length > 0 ? ` (${places.join(", from ")})` : "";
  const missing = /^ReferenceError: '?(\w+)'? is not defined/.exec(said)?.[1];
  if (missing === undefined) return said + where;
  const hint = Object.hasOwn(instead, missing) ? ` ${instead[missing]}.` : "";
  const given = namespaces.length > 0 ? namespaces.slice(0, 20).join(", ") : "none";
  return `${said}${where}.${hint} Namespaces that are given: ${given}.`;
}
