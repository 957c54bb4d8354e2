import type { BlobRef, Entry, Json } from "@lichen/wire";
import { expect } from "vitest";
import type { Draft, Session } from "../src/index.ts";
import { until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, prompt, run, sent, settled } from "./stage.ts";

/** About three and a half mebibytes, of characters of every length. */
const long = "aé\u4e16\u{1F344}\n".repeat(300_000);

function lineOf(text: Json): Draft {
  return { kind: "harness.line", data: { harness: "scripted", line: { text } } };
}

function textIn(entry: Entry): string | BlobRef {
  return (entry.data["line"] as { text: string | BlobRef }).text;
}

async function linesOf(session: Session): Promise<Entry[]> {
  return (await entriesOf(session)).filter(({ kind }) => kind === "harness.line");
}

async function wholeOf(session: Session, text: string | BlobRef): Promise<string> {
  if (typeof text === "string") return text;
  const blob = await session.blob(text.blob);
  expect(blob?.bytes.length).toBe(text.bytes);
  const parts: Uint8Array[] = [];
  for (let part; (part = await session.blobPart(text.blob, parts.length));) parts.push(part);
  expect(Buffer.concat(parts).equals(blob!.bytes)).toBe(true);
  return new TextDecoder().decode(blob?.bytes);
}

/** What is promised of texts of many megabytes, on any host. */
export function longTextsContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check("[S36] what is written after a long text comes after it in the log", async (stage) => {
    const torn = `${"x".repeat(2_000_000)}\ud83c`;
    const life = await stage.open({
      engine: [
        {
          gate: async ({ run: live }) => {
            const texts = ["first", long, "second", torn, "third"];
            await Promise.all(texts.map((text) => live.append([lineOf(text)])));
          },
        },
        { calls: [{ name: "read", effect: () => long }] },
        { say: "ok" },
      ],
    });
    const session = life.session();
    await run(session, "r1");
    const lines = await linesOf(session);
    const texts = await Promise.all(
      lines.map(async (entry) => {
        const text = textIn(entry);
        if (typeof text === "object" && text.mimeType === "application/json") return torn;
        return wholeOf(session, text);
      }),
    );
    expect(texts).toEqual(["first", long, "second", torn, "third"]);
    const outcome = (await entriesOf(session)).find(({ kind }) => kind === "message.tool");
    const [block] = outcome!.data["content"] as { text: string | BlobRef }[];
    expect(await wholeOf(session, block!.text)).toBe(long);
  });

  check(
    "[S37] a long text is stored in small steps, and after a death at any of them no entry refers to half of it",
    async (stage) => {
      const engine = [{ append: [lineOf(long)] }, { say: "ok" }];
      for (let commits = 1, isOver = false; !isOver; commits++) {
        const life = await stage.open({ engine });
        const session = life.session(`s${commits}`);
        const id = await sent(session, prompt("r1"));
        const before = life.commits;
        life.dieAfterCommits(commits);
        let hasEnded = false;
        const end = (): void => {
          hasEnded = true;
        };
        settled(session, id).then(end, end);
        await until(() => life.isDead || hasEnded, "an end");
        isOver = !life.isDead || life.commits - before < commits;
        life.die();
        const next = await stage.open({ engine });
        const again = next.session(`s${commits}`);
        await settled(again, id);
        for (const entry of await linesOf(again))
          expect((await wholeOf(again, textIn(entry))) === long).toBe(true);
        await again.delete();
        await next.owner.close();
        stage.reports.length = 0;
        if (commits > 30) throw new Error("the store takes more steps than it should");
      }
    },
  );
}
