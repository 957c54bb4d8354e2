// A provider's sign-in, held at this terminal: what it asks is asked, what it tells is shown, and a secret is neither
// shown nor kept. It has a quarter of an hour, and ends at Ctrl-C.

import { createInterface } from "node:readline/promises";
import type { Models } from "@lichen/engine";
import { Fault } from "@lichen/wire";
import { askSecret, Interrupted } from "../ask-secret.ts";
import { oneLine, printable } from "../printable.ts";
import type { Terminal } from "../terminal.ts";

export type Interaction = Parameters<Models["login"]>[1];
type Prompt = Parameters<Interaction["prompt"]>[0];
type Event = Parameters<Interaction["notify"]>[0];

/** What nobody answered ends the sign-in with this. */
export class BrokenOff extends Error {
  override readonly name = "BrokenOff";
}

/** `signal` ends it all. `breakOff` is called where the person pressed Ctrl-C at a question. */
export function atTerminal(
  terminal: Terminal,
  signal: AbortSignal,
  breakOff: () => void,
): Interaction {
  return {
    signal,
    async prompt(prompt) {
      const until = prompt.signal ? AbortSignal.any([signal, prompt.signal]) : signal;
      until.throwIfAborted();
      if (prompt.type === "secret") return keyTyped(prompt.message, breakOff);
      if (prompt.type === "select") return chosen(terminal, prompt, until, breakOff);
      const hint = prompt.placeholder ? ` (such as ${oneLine(prompt.placeholder, 100)})` : "";
      return lineTyped(`${oneLine(prompt.message, 500)}${hint}: `, until, breakOff);
    },
    notify: (event) => terminal.say(said(event)),
  };
}

/** Answers the one question for a key, and refuses any other. */
export function withKey(key: string, signal: AbortSignal): Interaction {
  return {
    signal,
    async prompt(prompt) {
      if (prompt.type === "secret") return key;
      throw new Fault(
        "invalid",
        `This provider asks for more than a key (${oneLine(prompt.message, 200)}): run the command in a terminal.`,
      );
    },
    notify: () => undefined,
  };
}

/** A key as providers make them; any other text was no key. Nothing of it is repeated. */
export function acceptedKey(text: string): string {
  const key = text.trim();
  if (key === "") throw new Fault("invalid", "No key was given: nothing was stored.");
  if (!/^[\x21-\x7e]{1,8192}$/.test(key))
    throw new Fault(
      "invalid",
      "That is no key: a key is one line of printable characters without spaces. Nothing was stored.",
    );
  return key;
}

async function keyTyped(message: string, breakOff: () => void): Promise<string> {
  try {
    return acceptedKey(await askSecret(`${oneLine(message, 500)} (it is not shown): `));
  } catch (error) {
    if (error instanceof Interrupted) breakOff();
    throw error;
  }
}

async function chosen(
  terminal: Terminal,
  { message, options }: Extract<Prompt, { type: "select" }>,
  signal: AbortSignal,
  breakOff: () => void,
): Promise<string> {
  terminal.say(oneLine(message, 500));
  options.forEach(({ label, description }, index) => {
    const more = description === undefined ? "" : `, ${oneLine(description, 200)}`;
    terminal.say(`  ${index + 1}  ${oneLine(label, 200)}${more}`);
  });
  for (;;) {
    const typed = (await lineTyped("Number: ", signal, breakOff)).trim();
    const option =
      options[Number(typed) - 1] ??
      options.find(({ id, label }) => typed === id || typed === label);
    if (option !== undefined) return option.id;
    terminal.say(`Type a number from 1 to ${options.length}.`);
  }
}

/** A line, shown as it is typed. Throws `BrokenOff` at Ctrl-C and where the terminal ends. */
export async function lineTyped(
  prompt: string,
  signal: AbortSignal,
  breakOff: () => void,
): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<undefined>((resolve) => lines.once("close", () => resolve(undefined)));
  lines.once("SIGINT", () => {
    breakOff();
    lines.close();
  });
  try {
    const line = await Promise.race([lines.question(prompt, { signal }), closed]);
    if (line === undefined) throw new BrokenOff("nothing was answered");
    return line;
  } finally {
    lines.close();
    // Node lets go of the keyboard a little later; who asks next must not lose it then.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function said(event: Event): string {
  switch (event.type) {
    case "auth_url":
      return [
        event.instructions === undefined
          ? "Sign in with a browser:"
          : printable(event.instructions),
        `  ${oneLine(event.url, 4_096)}`,
      ].join("\n");
    case "device_code": {
      const { userCode, verificationUri, expiresInSeconds } = event;
      const minutes = expiresInSeconds === undefined ? 0 : Math.round(expiresInSeconds / 60);
      return [
        "Open this address in a browser, on any device:",
        `  ${oneLine(verificationUri, 4_096)}`,
        `and type this code: ${oneLine(userCode, 100)}${minutes > 0 ? ` (good for ${minutes} minutes)` : ""}`,
      ].join("\n");
    }
    case "info": {
      const links = (event.links ?? []).map(({ label, url }) =>
        oneLine(label === undefined ? `  ${url}` : `  ${label}: ${url}`, 4_096),
      );
      return [printable(event.message), ...links].join("\n");
    }
    case "progress":
      return printable(event.message);
  }
}
