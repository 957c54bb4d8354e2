import { expect, test } from "vitest";
import { themeOf } from "../src/chat/show/theme.ts";
import { callAsked } from "../src/chat/show/approval.ts";
import { bare, callOf, numbered, shownOf, Story } from "./chat-show-story.ts";
import type { Entry, Json } from "@lichen/wire";

class ProgramStory extends Story {
  readonly assistant: Entry;

  constructor(code: string) {
    super();
    this.pace = 10;
    this.begins();
    this.assistant = this.answers(callOf(0, "execute", { code }));
    this.starts(this.assistant, 0, "execute");
    this.add("program.started", { ...this.place, seed: "00" });
  }

  get place(): { assistant: string; index: number } {
    return { assistant: this.assistant.id, index: 0 };
  }

  calls(ordinal: number, operation: string, input: { [name: string]: Json }): void {
    const inner = { operation, capability: "c", label: "write", replaySafe: false } as const;
    this.add("program.call", { ...this.place, ...inner, ordinal, digest: "d", input });
  }

  asks(ordinal: number, operation: string, input: { [name: string]: Json }): void {
    const expiresAt = "2026-02-01T00:00:00.000Z";
    const about = { approvalId: `apr_${ordinal}`, kind: "tool", tool: operation } as const;
    this.add("approval.asked", {
      ...this.place,
      ...about,
      ordinal,
      input,
      digest: "d",
      expiresAt,
    });
  }

  gives(ordinal: number, operation: string, value: Json): void {
    this.add("program.outcome", { ...this.place, ordinal, operation, ok: true, value });
  }

  fails(ordinal: number, operation: string, code: string, message: string): void {
    const outcome = { ok: false, code, message };
    this.add("program.outcome", { ...this.place, ordinal, operation, ...outcome });
  }
}

const code = [
  "const open = await github.list({ state: 'open' });",
  "for (const issue of open) await github.close({ id: issue.id });",
  "return open.length;",
].join("\n");

test("[U40] a program shows its code and below it each call that it made, and how that stands", () => {
  const story = new ProgramStory(code);
  story.calls(0, "github.list", { state: "open" });
  story.gives(0, "github.list", [{ id: 1 }, { id: 2 }]);
  story.calls(1, "github.close", { id: 1 });
  story.fails(1, "github.close", "http_404", "There is no issue 1.\nIt is gone.");
  story.asks(2, "github.close", { id: 2 });
  expect(shownOf(story.view())).toEqual([
    "",
    "▸ execute · waits for your answer · 3 calls",
    "  │ const open = await github.list({ state: 'open' });",
    "  │ for (const issue of open) await github.close({ id: issue.id });",
    "  │ return open.length;",
    '  │ ✓ github.list {"state":"open"}',
    '  │ ✗ github.close {"id":1}',
    "  │   There is no issue 1.",
    '  │ ? github.close {"id":2} · waits for your answer',
  ]);
  const whole = shownOf(story.view(), 80, true).join("\n");
  expect(whole).toContain("  │   There is no issue 1.\n  │   It is gone.");
  expect(whole).toContain("  │   -\n  │     id: 1\n");
});

test("[U40] of long code and of many calls the first and the last are shown until all is unfolded, and what waits always", () => {
  const story = new ProgramStory(numbered(40, "// line"));
  for (let ordinal = 0; ordinal < 40; ordinal++)
    if (ordinal === 20) story.asks(ordinal, "notes.add", { at: ordinal });
    else story.calls(ordinal, "notes.add", { at: ordinal });
  const rows = shownOf(story.view());
  expect(rows.join("\n")).toContain("  │ … 30 lines, ctrl+o shows all");
  expect(rows.join("\n")).toContain("  │ … 27 more calls, ctrl+o shows all");
  expect(rows).toContain('  │ ? notes.add {"at":20} · waits for your answer');
  expect(rows).toContain('  │ ▸ notes.add {"at":39}');
  expect(rows.length).toBeLessThan(40);
  const whole = shownOf(story.view(), 80, true);
  for (let at = 0; at < 40; at++) {
    expect(whole).toContain(`  │ // line ${at + 1}`);
    expect(whole.join("\n")).toContain(`notes.add {"at":${at}}`);
  }
});

test("[U40] a call that was denied or interrupted says so, and one line of code stands in the headline alone", () => {
  const story = new ProgramStory("await notes.add({})");
  story.asks(0, "notes.add", {});
  story.add("approval.answered", { approvalId: "apr_0", allow: false, digest: "d" });
  story.fails(0, "notes.add", "denied", "Rather not.");
  story.calls(1, "notes.add", {});
  story.add("program.outcome", {
    ...story.place,
    ordinal: 1,
    operation: "notes.add",
    ok: false,
    code: "interrupted",
    interrupted: true,
  });
  story.ends(story.assistant, 0, "execute", "it stopped", { isError: true });
  expect(shownOf(story.view())).toEqual([
    "",
    "✗ execute await notes.add({}) · 2 calls",
    "  │ ⊘ notes.add · denied",
    "  │   Rather not.",
    "  │ ! notes.add · interrupted: its effect is unknown",
    "  │ it stopped",
  ]);
});

test("[U41] what is asked of a program's call is its operation, by its whole name, and exactly its input", () => {
  const operation = `${"n".repeat(64)}.${"o".repeat(64)}`;
  const { head, body } = callAsked(
    {
      approvalId: "apr_1",
      commandId: "cmd_1",
      kind: "tool",
      tool: operation,
      input: { to: "a@b.example", text: "hi\nthere \u202eevil" },
      digest: "d",
      askedAt: "",
      expiresAt: "",
      state: "pending",
    },
    themeOf("dark", "none"),
    200,
  );
  expect(bare([head])).toEqual([`? ${operation} asks to run`]);
  expect(bare(body)).toEqual(["to: a@b.example", "text:", "  hi", "  there \\u{202e}evil"]);
});
