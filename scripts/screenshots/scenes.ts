// What the pictures show: conversations with the notes example, played by a scripted model.

import { startScriptedProvider } from "lichen/testing";
import type { Terminal } from "../../apps/cli/test/terminal.ts";

type Script = NonNullable<NonNullable<Parameters<typeof startScriptedProvider>[0]>["script"]>;

export interface Scene {
  /** Of its file: `terminal-<name>.svg`. */
  readonly name: string;
  /** What a person who cannot see the picture is told. */
  readonly describe: string;
  readonly session: string;
  readonly look: "dark" | "light";
  readonly cols: number;
  readonly rows: number;
  /** Takes the chat to what is to be seen. */
  readonly play: (chat: Terminal) => Promise<void>;
}

const soup = [
  "- 200 g red lentils",
  "- 1 onion, 2 carrots",
  "- cumin, lemon",
  "",
  "Simmer for 20 minutes, then blend half of it.",
].join("\n");

/** The model's side of all scenes, in their order. */
export const script: Script = [
  {
    parts: [
      { thinking: "Writing is safe to repeat, deleting is not.\nThe draft goes last, if I may." },
      { text: "I write the soup down, then ask you about the draft." },
      { call: { name: "note_write", input: { title: "Lentil soup", text: soup } } },
      { call: { name: "note_delete", input: { title: "draft" } } },
    ],
    usage: { input: 1_840, output: 203 },
  },
  {
    parts: [
      {
        text:
          "The draft is gone. What is left:\n\n| note | what it says |\n| --- | --- |\n" +
          "| **lentil-soup** | new, ready in 20' |\n| **market** | for Saturday |\n",
      },
    ],
    usage: { input: 2_110, output: 48 },
  },
];

const session = "kitchen";

export const scenes: readonly Scene[] = [
  {
    name: "approval",
    describe: "lichen chat: an agent has written a note; before it deletes another one, it asks.",
    session,
    look: "dark",
    cols: 88,
    rows: 25,
    async play(chat) {
      await chat.type("Write my lentil soup down, and throw the draft away.");
      await chat.press("Enter");
      await chat.until("Deny with a reason");
      await chat.until("✓ note_write");
      await chat.press("Tab");
      await chat.until("→ 1 Allow");
    },
  },
  {
    name: "narrow",
    describe:
      "The same conversation in light colours on 40 columns, as on a phone: the draft is gone, and a table shows what is left.",
    session,
    look: "light",
    cols: 40,
    rows: 31,
    async play(chat) {
      await chat.until("Deny with a reason");
      await chat.press("Tab", "1");
      await chat.until("for Saturday");
      await chat.until(/^ready/m);
    },
  },
];
