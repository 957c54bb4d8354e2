import { createHash } from "node:crypto";
import { ProcessTerminal, TuiAltScreen } from "@earendil-works/pi-tui";
import { type Approval, canonicalJson, type Json } from "@lichen/wire";
import { expect, test } from "vitest";
import { type AnswerTo, decisionPanel } from "../src/chat/panel/decision.ts";
import type { Panel } from "../src/chat/panel/panel.ts";
import { questionPanel } from "../src/chat/panel/questions.ts";
import type { ReadBlob } from "../src/whole-approval.ts";
import { themeOf } from "../src/chat/show/theme.ts";
import { bare } from "./chat-show-story.ts";

const sha256 = (of: string | Uint8Array) => createHash("sha256").update(of).digest("hex");
const text = `rm -rf x${" ".repeat(40_000)}; evil`;
const bytes = Buffer.from(text);
const aside = {
  blob: sha256(bytes),
  mimeType: "text/plain; charset=utf-8",
  bytes: bytes.length,
};

function approvalOf(stored: Json, asked: Json, more: Partial<Approval> = {}): Approval {
  return {
    approvalId: "x",
    commandId: "c",
    kind: "tool",
    tool: "bash",
    ...(more.kind === "question" ? {} : { input: stored }),
    digest: sha256(canonicalJson(asked)),
    askedAt: "",
    expiresAt: "",
    state: "pending",
    ...more,
  };
}

/** A panel with the keys, what it answers, and what it shows. */
function panelOf(approval: Approval, blob: ReadBlob) {
  const answers: AnswerTo[] = [];
  const drawn = { asked: 0 };
  const tui = new TuiAltScreen(new ProcessTerminal());
  tui.requestRender = () => void drawn.asked++;
  let shown: Panel;
  const options = {
    tui,
    theme: themeOf("light", "none"),
    rows: () => 40,
    blob,
    answer: async (given: AnswerTo) => void answers.push(given),
    show: (panel: Panel) => {
      shown = panel;
      shown.focused = true;
    },
    leave: () => undefined,
    other: () => undefined,
  };
  options.show((approval.kind === "question" ? questionPanel : decisionPanel)(approval, options));
  return {
    answers,
    drawn,
    screen: () => bare(shown.render(60)).join("\n"),
    press: (...keys: string[]) => {
      for (const key of keys) shown.handleInput(key);
    },
  };
}

const enter = "\r";
const down = "\u001b[B";
const soon = () => new Promise<void>((resolve) => setImmediate(resolve));

test("[U28] until what is kept beside the log is read and shown, nothing allows it, and it can be denied", async () => {
  const read = Promise.withResolvers<Uint8Array | undefined>();
  const panel = panelOf(approvalOf({ command: aside }, { command: text }), () => read.promise);
  expect(panel.screen()).toMatch(/command: \[40 kB of text in the log\][^]*No allowing yet/);
  expect(panel.screen()).not.toContain("Allow");
  panel.press(enter);
  read.resolve(bytes);
  await soon();
  expect(panel.drawn.asked).toBe(1);
  // It is there, and nobody saw it yet.
  panel.press(enter);
  expect(panel.answers).toEqual([]);
  expect(panel.screen()).toContain("rm -rf x\\u{0020}×40000; evil");
  panel.press(enter);
  expect(panel.answers).toEqual([{ allow: true }]);
  const denied = panelOf(approvalOf({ command: aside }, { command: text }), async () => undefined);
  denied.screen();
  denied.press(down, down, enter);
  expect(denied.answers).toEqual([{ allow: false }]);
});

test("[U28] what cannot be read back, or is not what was asked, is not allowed from here, and says why", async () => {
  const ask = { command: text };
  const refused: readonly [string, Approval, ReadBlob][] = [
    ["not in the log any more", approvalOf({ command: aside }, ask), async () => undefined],
    ["other than it was asked", approvalOf({ command: aside }, ask), async () => Buffer.from("ls")],
    [
      "other than it was asked",
      approvalOf({ command: aside }, { command: "ls" }),
      async () => bytes,
    ],
    [
      "no answer in time",
      approvalOf({ command: aside }, ask),
      () => Promise.reject(new Error("no answer in time")),
    ],
    [
      "too much to be judged here: 2.0 MB",
      approvalOf({ command: { ...aside, bytes: 2_000_000 } }, ask),
      async () => bytes,
    ],
  ];
  for (const [why, approval, blob] of refused) {
    const panel = panelOf(approval, blob);
    panel.screen();
    await soon();
    expect(panel.screen().replaceAll(/\n\s*/g, " ")).toContain(why);
    for (const at of [0, 1]) {
      panel.press(...Array.from({ length: at }, () => down), enter);
      await soon();
    }
    expect(panel.answers).toEqual([]);
  }
});

test("[U28] what could not be read back is read again, and then allowed", async () => {
  let isThere = false;
  const panel = panelOf(approvalOf({ command: aside }, { command: text }), async () =>
    isThere ? bytes : undefined,
  );
  panel.screen();
  await soon();
  expect(panel.screen()).toContain("Read it again");
  isThere = true;
  panel.press(down, enter);
  await soon();
  expect(panel.screen()).toContain("; evil");
  panel.press("\u001b[A", enter);
  expect(panel.answers).toEqual([{ allow: true }]);
});

test("[U28] a question that is kept beside the log is put once it is read", async () => {
  const questions = [{ question: "Which?", options: ["left", { label: text }] }];
  const stored = [{ question: "Which?", options: ["left", { label: aside }] }];
  const panel = panelOf(
    approvalOf(null, questions, { kind: "question", questions: stored }),
    async () => bytes,
  );
  expect(panel.screen()).toContain("being read");
  panel.press(enter);
  await soon();
  expect(panel.screen()).toContain("Go on to it");
  panel.press(enter);
  expect(panel.screen()).toContain("2 rm -rf x\\u{0020}×40000; evil");
  panel.press(down, enter);
  expect(panel.answers).toEqual([{ allow: true, answers: { "Which?": text } }]);
});
