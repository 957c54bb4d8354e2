// The keys of the screen and what they do: one table for the screen itself and for its help.

import { KeybindingsManager, matchesKey, TUI_KEYBINDINGS } from "@earendil-works/pi-tui";

const actions = [
  {
    name: "stop",
    keys: ["escape"],
    says: "close what is open; take back a queued message; stop the run",
  },
  { name: "queue", keys: ["alt+enter"], says: "send after the running work, instead of into it" },
  { name: "recall", keys: ["alt+up"], says: "take the newest queued message back into the editor" },
  { name: "sessions", keys: ["ctrl+r"], says: "the sessions: go on with another one" },
  { name: "new", keys: ["ctrl+n"], says: "a new session" },
  { name: "model", keys: ["ctrl+l"], says: "choose the model" },
  { name: "reasoning", keys: ["shift+tab"], says: "the next level of reasoning" },
  { name: "unfold", keys: ["ctrl+o"], says: "show or fold thinking and what tools put out" },
  { name: "image", keys: ["ctrl+v"], says: "attach the image on the clipboard" },
  { name: "answer", keys: ["tab"], says: "answer what the agent asks (with an empty editor)" },
  { name: "clear", keys: ["ctrl+c"], says: "empty the editor; twice: leave" },
  { name: "leave", keys: ["ctrl+d"], says: "leave (with an empty editor)" },
  { name: "suspend", keys: ["ctrl+z"], says: "leave for a moment; `fg` comes back" },
  { name: "redraw", keys: ["ctrl+g"], says: "draw the screen anew" },
] as const;

/** The keys of a chat. An agent that has one session has no others to go to. */
export function actionsOf({ only }: { readonly only: unknown }) {
  if (only === undefined) return actions;
  return actions
    .filter(({ name }) => name !== "sessions")
    .map(({ name, keys, says }) => ({
      keys,
      says: name === "new" ? "begin the conversation anew" : says,
    }));
}

export type Action = (typeof actions)[number]["name"];

/** Keys that the editor and the conversation take, for help. */
export const otherKeys: readonly (readonly [string, string])[] = [
  ["enter", "send; while a run works: into it, at its next step"],
  ["shift+enter, ctrl+j", "a new line"],
  ["↑ ↓", "earlier messages of yours"],
  ["page up, page down, wheel", "scroll; ctrl+home and ctrl+end go to the ends"],
  ["ctrl+↑, ctrl+↓", "the message before or after"],
  ["f3, ctrl+shift+f", "find on the screen"],
  ["tab", "complete a command or a path"],
];

export function actionOf(data: string): Action | undefined {
  return actions.find(({ keys }) => keys.some((key) => matchesKey(data, key)))?.name;
}

/** The library's own keys, with finding within reach of terminals that cannot tell ctrl+shift. */
export function libraryKeys(): KeybindingsManager {
  return new KeybindingsManager(TUI_KEYBINDINGS, {
    "tui.altScreen.search": ["ctrl+shift+f", "f3"],
    "tui.altScreen.searchNext": ["enter", "f3"],
  });
}
