import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";

/** Each of these starts many processes. */
const slow = { timeout: 90_000 };

const asking = noteTool.replace("description:", "confirm: true,\n  description:");
const callsNote = { parts: [{ call: { name: "note", input: { text: "hello" } } }] };

interface Row {
  session: string;
  state: string;
  found?: { role: string; snippet: string }[];
}

test(
  "[K30] sessions lists conversations, the latest first, with what waits; the same with a host and without",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home, { "tools/note.ts": asking });
    await Provider.start(home, dir, { steps: ["Sunny.", callsNote] });
    await home.run(["invoke", "how is the weather", dir, "--session", "weather"]);
    await home.run(["invoke", "note hello", dir, "--session", "notes"]);
    const alone = await home.run(["sessions", dir]);
    expect(alone.code).toBe(0);
    const lines = alone.stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^notes {4}waiting {2}1 to answer {2}now {2}\S/);
    expect(lines[1]).toMatch(/^weather {2}idle {5} {13}now {2}\S/);
    const host = await StartedHost.start(home, dir);
    const served = await home.run(["sessions", dir, "--json"]);
    const rows = JSON.parse(served.stdout) as Row[];
    expect(rows.map(({ session, state }) => [session, state])).toEqual([
      ["notes", "waiting"],
      ["weather", "idle"],
    ]);
    const one = await home.run(["sessions", dir, "--limit", "1"]);
    expect(one.stdout).toMatch(/^notes .*\n$/);
    expect(one.stderr).toContain("--limit 2");
    await host.running.stop();
  },
);

test(
  "[K30] sessions --search finds titles and messages, past case and accents, and shows where",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    await Provider.start(home, dir, { steps: [], then: "Yes." });
    const host = await StartedHost.start(home, dir);
    const sessions = `/agents/${await host.agent()}/sessions`;
    await host.ask(sessions, { requestId: "a", session: "titled", title: "The Café" });
    await home.run(["invoke", "meet me at the cafe tonight", dir, "--session", "said"]);
    await home.run(["invoke", "something else", dir, "--session", "other"]);
    const text = await home.run(["sessions", dir, "--search", "café"]);
    expect(text.code).toBe(0);
    expect(text.stdout).toMatch(/^said .*\n {2}\d+ user: .*at the cafe tonight.*\ntitled .*\n$/);
    await host.running.stop();
    const json = await home.run(["sessions", dir, "--search", "CAFE", "--json"]);
    const rows = JSON.parse(json.stdout) as Row[];
    expect(rows.map(({ session }) => session)).toEqual(["said", "titled"]);
    expect(rows[0]?.found).toMatchObject([{ role: "user" }]);
    const none = await home.run(["sessions", dir, "--search", "nowhere"]);
    expect(none).toMatchObject({ code: 0, stdout: "" });
    expect(none.stderr).toContain("nothing found");
  },
);

test("[K30] sessions of an agent that has none says how to begin one", slow, async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  expect(await home.run(["sessions", dir, "--json"])).toMatchObject({ code: 0, stdout: "[]\n" });
  const { code, stdout, stderr } = await home.run(["sessions", dir]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toContain("lichen invoke");
});
