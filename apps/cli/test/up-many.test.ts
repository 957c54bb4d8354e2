import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { StartedMachine } from "./machine.ts";
import { Home } from "./process.ts";

// Many processes, on a computer that may be busy.
const slow = { timeout: 240_000 };

test(
  "[UP32] ps, approve and doctor see every conversation of a folder's agent, however many were active after it",
  slow,
  async () => {
    await using home = await Home.make();
    const asking = noteTool.replace("description:", "confirm: true,\n  description:");
    const dir = await writeAgent(home, { "tools/note.ts": asking });
    const note = { parts: [{ call: { name: "note", input: { text: "hello" } } }] };
    await Provider.start(home, dir, { steps: ["The first.", note], then: "Heard." });
    const machine = await StartedMachine.start(home, [dir]);
    const first = await home.run(["send", "agent", "hello", "--wait"]);
    expect(first).toMatchObject({ code: 0, stdout: "The first.\n" });
    const sending = home.start(["send", "agent/old", "note it", "--new", "--wait"]);
    const id = await sending.until(({ stderr }) => /lichen approve (apr_\w+)/.exec(stderr)?.[1]);
    const { agents } = (await (await machine.ask("/agents")).json()) as {
      agents: { agent: string }[];
    };
    for (let at = 0; at < 201; at++) {
      const made = await machine.ask(`/agents/${agents[0]?.agent}/sessions`, {
        ...{ requestId: `many-${at}`, session: `later-${at}` },
      });
      expect(made.ok).toBe(true);
    }
    const listed = await home.run(["ps"]);
    expect(listed.stdout).toMatch(
      /^agent +model +idle .*The first\.\nagent\/old +model +waiting .*1 to answer/,
    );
    expect(listed.stderr).toContain("agent has 201 more conversations, where nothing goes on");
    expect((await home.run(["approve"])).stdout).toContain(`${id}  session agent/old`);
    expect((await home.run(["doctor"])).stdout).toMatch(/agent\/old .*waits for/);
  },
);
