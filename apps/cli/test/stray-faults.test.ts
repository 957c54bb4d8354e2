// Whose a stray fault is, judged in a process of its own.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Home, repository } from "./process.ts";

const source = join(repository, "apps/cli/src");

/** A program that takes its stray faults, says what became of each, and throws what `body` says. */
function program(home: Home, body: string): string {
  return `
    import { StrayFaults } from ${JSON.stringify(join(source, "stray-faults.ts"))};
    import { describeError } from ${JSON.stringify(join(source, "fault-text.ts"))};
    import { quoted } from ${JSON.stringify(join(source, "typed.ts"))};
    new StrayFaults().take({
      dirs: [${JSON.stringify(home.path("agent"))}],
      left: ({ error }) => console.log("left", String(error)),
      broken: (error) => { console.log("broken", String(error)); process.exit(1); },
    });
    ${body}
  `;
}

test("[K22] a throw of Lichen's own code ends the process, and a rejection of it does not", async () => {
  await using home = await Home.make();
  const file = home.path("program.ts");
  const node = { program: [process.execPath] as const };
  await writeFile(file, program(home, `setTimeout(() => quoted(Symbol()), 1);`));
  const thrown = await home.run([file], node);
  expect(thrown).toMatchObject({ code: 1, stdout: expect.stringMatching(/^broken TypeError/) });
  await writeFile(file, program(home, `void (async () => quoted(Symbol()))();`));
  const rejected = await home.run([file], node);
  expect(rejected).toMatchObject({ code: 0, stdout: expect.stringMatching(/^left TypeError/) });
});

test("[K22] what is thrown may be anything, also what throws when it is looked at", async () => {
  await using home = await Home.make();
  const file = home.path("program.ts");
  const nasty = `
    const nasty = new Error("n");
    Object.defineProperty(nasty, "stack", { get() { throw new Error("hidden"); } });
    void Promise.reject(nasty);
    void Promise.reject(Object.create(null));
    void Promise.reject(new Proxy({}, { getPrototypeOf() { throw new Error("hidden"); } }));
  `;
  await writeFile(file, program(home, nasty).replaceAll("String(error)", "describeError(error)"));
  const { code, stdout } = await home.run([file], { program: [process.execPath] });
  expect({ code, lines: stdout.split("\n").length }).toEqual({ code: 0, lines: 4 });
});

test("[K22] a throw that no run and no code of the agent stands behind ends the process", async () => {
  await using home = await Home.make();
  const file = home.path("program.ts");
  await writeFile(file, program(home, `setTimeout(() => { throw new Error("whose?"); }, 1);`));
  const { code, stdout } = await home.run([file], { program: [process.execPath] });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "broken Error: whose?\n" });
});
