// Claude Code, as a machine knows it.

import type { Json } from "@lichen/wire";
import { objectIn } from "../events/lines.ts";
import { isClaudeVariable } from "./environment.ts";
import { commandOf, findProgram } from "./find-program.ts";
import type { AnsweredPrompt, Harness } from "./harness.ts";
import { textAt } from "./stream-json.ts";

export function claudeHarness(open: Harness["open"]): Harness {
  return {
    name: "claude",
    title: "Claude Code",
    caps: { approve: true, takeover: true },
    can: { steer: true, approve: true, resume: true, takeover: true, images: true, models: true },
    folds: true,
    find: (places) => {
      const program = findProgram("claude", places);
      return program === undefined
        ? {
            missing:
              "Claude Code is not on this machine: install it (npm install -g @anthropic-ai/claude-code, or its own installer), then log in once with `claude`.",
          }
        : { command: commandOf(program) };
    },
    takesVariable: isClaudeVariable,
    open,
    answeredIn: claudeAnswered,
  };
}

/** Auto-approve's answers stand among the lines, under who gave them. */
function claudeAnswered(line: Json): AnsweredPrompt | undefined {
  const fields = objectIn(line);
  const by = textAt(fields, "by");
  if (fields["type"] !== "control_response" || by === "") return undefined;
  const response = objectIn(fields["response"]);
  const allow = textAt(objectIn(response["response"]), "behavior") === "allow";
  return { by, prompt: textAt(response, "request_id"), allow };
}
