// How a turn's result settles its command.

import type { Result } from "@lichen/runtime";
import type { TurnResult } from "./line.ts";

const notLoggedIn = /not logged in|please run \/login|invalid api key|oauth token has expired/i;
const passing = /\b(429|5\d\d)\b|overloaded|rate limit|timed? ?out|connection|network/i;

/** What a person does where Claude Code has no login: `/login` does not exist in a session of ours. */
const howToLogIn =
  "Claude Code is not logged in on this computer: run `claude` in a terminal here and type /login (or give its session ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN), then send the message again.";

export function settlementOf(result: TurnResult, asked: string): Result {
  const text = result.text?.trim() ?? "";
  if (asked.trim() === "/login" || (result.isError && notLoggedIn.test(text)))
    return { terminal: "failed", diagnostic: howToLogIn };
  if (result.subtype === "success" && !result.isError)
    return { terminal: "completed", ...(text === "" ? {} : { answer: result.text ?? "" }) };
  const why = text || result.errors.at(-1) || wordsOf(result.subtype);
  return { terminal: "failed", diagnostic: why, retryable: passing.test(why) };
}

function wordsOf(subtype: string): string {
  if (subtype === "error_max_turns") return "Claude Code reached its limit of turns.";
  return `Claude Code ended the turn: ${subtype.replaceAll("_", " ")}.`;
}
