// What a command on one session does to the others where no host runs: nothing.

import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { kindsOf, StartedHost } from "./host.ts";
import { Home } from "./process.ts";

/** Each of these starts many processes. */
const slow = { timeout: 120_000 };

const asking = noteTool.replace("description:", "confirm: true,\n  description:");
const pickTool = `
import { defineTool, z } from "lichen";
export default defineTool({
  description: "Asks which color.",
  label: "read",
  input: z.object({}),
  execute: async (_input, { ask }) => JSON.stringify(await ask([
    { question: "Which color?", header: "Color", options: [{ label: "Red" }, { label: "Blue" }] },
  ])),
});
`;

async function stateOf(home: Home, dir: string, session: string): Promise<unknown> {
  const { stdout } = await home.run(["sessions", dir, "--json"]);
  const sessions = JSON.parse(stdout) as { session: string }[];
  return sessions.find((it) => it.session === session);
}

test(
  "[K46] send --wait, invoke and approve without a host run their own session; a message of another one goes on waiting",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home, { "tools/note.ts": asking });
    const provider = await Provider.start(home, dir, {
      steps: [
        "Sent.",
        "Invoked.",
        { parts: [{ call: { name: "note", input: { text: "hello" } } }] },
        "Approved.",
        "The other.",
        "More.",
      ],
    });
    expect((await home.run(["send", "other", "later", dir, "--new"])).code).toBe(0);
    const queued = await stateOf(home, dir, "other");
    expect(queued).toMatchObject({ state: "queued", head: 1 });

    const sent = await home.run(["send", "mine", "now", dir, "--new", "--wait"]);
    expect(sent).toMatchObject({ code: 0, stdout: "Sent.\n" });
    expect(sent.stderr).not.toContain("other");
    const invoked = await home.run(["invoke", "now", dir, "--session", "mine"]);
    expect(invoked).toMatchObject({ code: 0, stdout: "Invoked.\n" });
    const waiting = await home.run(["invoke", "note", dir, "--session", "mine"]);
    const id = /lichen approve (apr_\S+)/.exec(waiting.stderr)?.[1] ?? "none";
    expect(await home.run(["approve", "apr_nope_1", dir])).toMatchObject({ code: 1, stdout: "" });
    expect(await provider.requests()).toBe(3);
    expect(await home.run(["approve", id, dir])).toMatchObject({ code: 0, stdout: "Approved.\n" });
    expect(await readFile(home.path("agent", "notes.txt"), "utf8")).toBe("hello\n");
    expect(await stateOf(home, dir, "other")).toEqual(queued);
    expect(await provider.requests()).toBe(4);

    const host = await StartedHost.start(home, dir);
    const last = await home.run(["invoke", "more", dir, "--session", "other"]);
    expect(last).toMatchObject({ code: 0, stdout: "More.\n" });
    const kinds = kindsOf(await host.entries("other"));
    expect(kinds).not.toContain("run.recovered");
    expect(kinds.filter((kind) => kind === "run.settled")).toHaveLength(2);
  },
);

test(
  "[K46] a write of another session that waits for a person is not begun by an approve that is refused",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home, { "tools/note.ts": noteTool, "tools/pick.ts": pickTool });
    await Provider.start(home, dir, {
      steps: [
        { parts: [{ call: { name: "pick", input: {} } }] },
        { parts: [{ call: { name: "note", input: { text: "written" } } }] },
        "Done.",
      ],
    });
    expect((await home.run(["invoke", "pick", dir, "--session", "asks"])).code).toBe(1);
    expect((await home.run(["send", "writes", "write", dir, "--new"])).code).toBe(0);
    const id = /apr_\S+/.exec((await home.run(["approve", dir])).stdout)?.[0] ?? "none";
    // A question needs words; an id that is nowhere needs another id.
    expect(await home.run(["approve", id, dir])).toMatchObject({ code: 2, stdout: "" });
    expect(await home.run(["approve", "apr_nope_1", dir])).toMatchObject({ code: 1, stdout: "" });
    expect(await stateOf(home, dir, "writes")).toMatchObject({ state: "queued", head: 1 });
    expect(await stateOf(home, dir, "asks")).toMatchObject({ state: "waiting" });
  },
);
