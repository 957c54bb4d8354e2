// Commands that talk to an agent, from wherever it is served.

import type { CommandSpec } from "../command.ts";
import { dir, model, on, state } from "./shared.ts";

export const talking: readonly CommandSpec[] = [
  {
    name: "invoke",
    summary: "send one message and print the answer",
    details: [
      "Uses the host that `lichen start` runs for this folder; where none answers, it opens the store itself. " +
        "The answer goes to stdout, tools and notes to stderr. Ctrl-C cancels the run, a second one quits at once. " +
        "A - as text reads it from stdin.",
    ],
    arguments: [{ name: "text", summary: "the message", required: true }, dir],
    options: [
      {
        name: "session",
        value: "id",
        summary: "the conversation to go on with (default: a new one)",
        offers: "session",
      },
      model,
      state,
      { name: "json", summary: "print the settlement as one line of JSON" },
    ],
    examples: [
      'lichen invoke "What can you do?"',
      'lichen invoke "And tomorrow?" --session weather',
      "git diff | lichen invoke - my-agent",
    ],
    load: () => import("../command/invoke.ts"),
  },
  {
    name: "approve",
    summary: "answer what an agent asks before it acts",
    details: [
      "Without an id it lists what waits for a person. With one it allows that, or refuses it with --deny, and shows " +
        "how the run goes on. Uses the host that runs for this folder; where none answers, it opens the store itself " +
        "and stays until the run is done. Ctrl-C ends the looking on (130) and stops nothing: `lichen cancel` does that.",
      "A question takes the label of an option, its number or your own words: with --message, or where several are asked " +
        "with an --answer for each. At a terminal they are asked here, one after the other, where neither is given.",
      "What waits in the sessions of this computer's machine (`lichen up`) is listed and answered too. Where a coding agent " +
        "suggests what may be allowed from now on, its rule and where it holds are shown.",
    ],
    arguments: [
      {
        name: "approvalId",
        summary: "what to answer, such as apr_3wklk58v8jrz_13",
        required: false,
        offers: "approval",
      },
      dir,
    ],
    options: [
      {
        name: "session",
        value: "id",
        summary: "only what this conversation waits for",
        offers: "session",
      },
      { name: "deny", summary: "refuse it; the run goes on without" },
      { name: "interrupt", summary: "with --deny: the run is stopped too" },
      { name: "always", summary: "allow it, and what it suggests from now on" },
      {
        name: "message",
        value: "text",
        summary: "what the agent is told with it; the answer, where it asks one question",
      },
      {
        name: "answer",
        value: "which=answer",
        summary: "an answer to the question of that number, header or text; given once for each",
      },
      state,
      on,
      { name: "json", summary: "print the list, or the settlement, as one line of JSON" },
    ],
    examples: [
      "lichen approve",
      "lichen approve apr_3wklk58v8jrz_13",
      'lichen approve apr_3wklk58v8jrz_13 --deny --message "not today"',
      "lichen approve apr_3wklk58v8jrz_13 --answer 1=Blue --answer 2=S",
    ],
    load: () => import("../command/approve.ts"),
  },
  {
    name: "send",
    summary: "leave a message for an agent",
    details: [
      "Prints the command's id once the message is kept, and does not wait for its answer. Where no host runs, the " +
        "message is kept in the store and answered once one does; with --wait it is answered here. A - as text reads " +
        "it from stdin.",
      "A session of this computer's machine (`lichen ps`) is meant first. Where the agent in this folder has one of that name " +
        "too, --machine means the machine's, and the folder as last word the agent's.",
      "With --wait Ctrl-C ends the waiting (130) and takes nothing back: `lichen cancel` does that.",
    ],
    arguments: [
      { name: "session", summary: "the conversation", required: true, offers: "any-session" },
      { name: "text", summary: "the message", required: true },
      dir,
    ],
    options: [
      { name: "new", summary: "begin the conversation if it is not there" },
      { name: "steer", summary: "let the run that goes on take it in" },
      { name: "line", summary: "only record it, for the next run to read" },
      {
        name: "image",
        value: "path",
        summary: "send a PNG, JPEG, GIF or WebP with it; may be given several times",
        offers: "file",
      },
      { name: "machine", summary: "the session is one of this machine's" },
      { name: "wait", summary: "print the answer; 1 where the run did not complete" },
      {
        name: "request-id",
        value: "id",
        summary: "a key of your own: the same again sends nothing twice",
      },
      state,
      on,
      {
        name: "json",
        summary: "print the receipt (with --wait the settlement) as one line of JSON",
      },
    ],
    examples: [
      'lichen send weather "And tomorrow?"',
      'lichen send weather "Look at this" --image sky.jpg --wait',
      'git diff | lichen send review - my-agent --new --request-id "$(git rev-parse HEAD)"',
    ],
    load: () => import("../command/send.ts"),
  },
  {
    name: "watch",
    summary: "follow a conversation as it goes on",
    details: [
      "Shows messages, tools, questions and how runs end, until Ctrl-C (0, and nothing is stopped by it) or until the " +
        "conversation is deleted. Outlives the host's restarts, and waits for a host where none runs. Without a " +
        "session it shows a line for every change of any conversation.",
      "A single word that begins with ./, ../ or / (or is . or ..), or that is the folder of an agent, is the folder: name " +
        "the folder as well to mean a conversation of that name.",
      "A session of this computer's machine (`lichen ps`) is meant first, as with `lichen send`. Without a session, " +
        "and away from every agent's folder, all that goes on in the machine is shown.",
    ],
    arguments: [
      {
        name: "session",
        summary: "the conversation; all of them where left out",
        required: false,
        offers: "any-session",
      },
      dir,
    ],
    options: [
      { name: "from-start", summary: "show first what was said so far" },
      { name: "machine", summary: "the session is one of this machine's" },
      state,
      on,
      { name: "json", summary: "print each frame of the stream as one line of JSON" },
    ],
    examples: ["lichen watch", "lichen watch my-agent", "lichen watch weather --from-start"],
    load: () => import("../command/watch.ts"),
  },
  {
    name: "cancel",
    summary: "stop what an agent does in a conversation",
    details: [
      "Without a command's id it stops the run that goes on and takes back all prompts that wait. With one it stops or " +
        "takes back that alone. Prints the ids of what was cancelled; 1 where it was too late.",
      "A session of this computer's machine (`lichen ps`) is meant first, as with `lichen send`.",
    ],
    arguments: [
      { name: "session", summary: "the conversation", required: true, offers: "any-session" },
      {
        name: "commandId",
        summary: "what to cancel, such as cmd_3wklk58v8jrz_13",
        required: false,
      },
      dir,
    ],
    options: [
      { name: "only-if-pending", summary: "leave it alone once it runs" },
      { name: "machine", summary: "the session is one of this machine's" },
      state,
      on,
      { name: "json", summary: "print the receipt as one line of JSON" },
    ],
    examples: [
      "lichen cancel weather",
      "lichen cancel weather cmd_3wklk58v8jrz_13 --only-if-pending",
    ],
    load: () => import("../command/cancel.ts"),
  },
  {
    name: "sessions",
    summary: "list an agent's conversations",
    details: [
      "One a line, latest first: id, state, what waits, when it last changed, title or last message.",
      "--search looks for a text in the titles and messages of the 50 latest, and shows where it stands.",
    ],
    arguments: [dir],
    options: [
      {
        name: "limit",
        value: "number",
        summary: "how many at most (default: 50)",
        refuse: (value) =>
          /^[1-9]\d{0,5}$/.test(value)
            ? undefined
            : `takes a whole number from 1 to 999999, not "${value}"`,
      },
      { name: "search", value: "text", summary: "only those that contain this" },
      state,
      { name: "json", summary: "print one array of JSON" },
    ],
    examples: ["lichen sessions", "lichen sessions my-agent --search invoice"],
    load: () => import("../command/sessions.ts"),
  },
];
