import { execFileSync } from "node:child_process";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { Home } from "./process.ts";

// Many processes, on a computer that may be busy.
const slow = { timeout: 120_000 };

const secret = "made-up-key-of-this-test";

function stored(home: Home): string {
  return home.path(".local", "share", "lichen", "credentials.json");
}

test(
  "[K38] a key from stdin is stored for its owner only, makes its models ready, and is never shown",
  slow,
  async () => {
    await using home = await Home.make();
    const before = await home.run(["models", "groq"]);
    expect(before.stderr).toContain("none but the demo can be used");
    const login = await home.run(["login", "groq", "--key-stdin"], { input: `${secret}\n` });
    expect(login).toMatchObject({ code: 0, stdout: "" });
    expect(JSON.parse(await readFile(stored(home), "utf8"))).toEqual({
      groq: { type: "api_key", key: secret },
    });
    expect((await stat(stored(home))).mode & 0o777).toBe(0o600);
    const models = await home.run(["models", "groq"]);
    expect(models.stderr).toMatch(/(\d+) models; \1 can be used/);
    const list = await home.run(["login", "--list"]);
    expect(list.stdout).toMatch(/^groq +logged in with a stored key\n/);
    expect(list.stdout).toMatch(/^anthropic +not ready; takes an account or a key$/m);
    // One that also takes accounts takes a key here.
    expect((await home.run(["login", "anthropic", "--key-stdin"], { input: secret })).code).toBe(0);
    const json = await home.run(["login", "--json"]);
    const found = (JSON.parse(json.stdout) as { id: string; found?: object }[]).filter(
      (it) => it.found,
    );
    expect(found).toMatchObject([
      { id: "anthropic", found: { way: "key", isStored: true } },
      { id: "groq", found: { way: "key", isStored: true } },
    ]);
    const removed = await home.run(["login", "groq", "--remove"], {
      env: { GROQ_API_KEY: "another-made-up-one" },
    });
    expect(removed).toMatchObject({ code: 0, stdout: "" });
    expect(removed.stderr).toBe("Groq: forgotten. A key is still found in GROQ_API_KEY.\n");
    expect(Object.keys(JSON.parse(await readFile(stored(home), "utf8")) as object)).toEqual([
      "anthropic",
    ]);
    for (const { stdout, stderr } of [login, models, list, json, removed])
      expect(stdout + stderr).not.toMatch(/made-up/);
  },
);

test(
  "[K38] what is no key is refused and not repeated, and a file of credentials that cannot be read stays",
  slow,
  async () => {
    await using home = await Home.make();
    for (const input of ["", "two words", "a\nb", "\u00fc", "x".repeat(70_000)]) {
      const refused = await home.run(["login", "groq", "--key-stdin"], { input });
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      if (input !== "") expect(refused.stderr).not.toContain(input);
    }
    await expect(stat(stored(home))).rejects.toThrow("ENOENT");
    expect((await home.run(["login", "groq", "--key-stdin"], { input: secret })).code).toBe(0);
    await writeFile(stored(home), "{ not json");
    const refused = await home.run(["login", "groq", "--key-stdin"], { input: secret });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("credentials.json is not JSON");
    expect(await readFile(stored(home), "utf8")).toBe("{ not json");
  },
);

test(
  "[K38] an unknown provider ends with 2 and the nearest name, and where nobody can be asked it ends with 1",
  slow,
  async () => {
    await using home = await Home.make();
    const unknown = await home.run(["login", "grok", "--key-stdin"], { input: secret });
    expect(unknown).toMatchObject({ code: 2, stdout: "" });
    expect(unknown.stderr).toContain("no such provider; did you mean groq?");
    const nobody = await home.run(["login", "groq"]);
    expect(nobody).toMatchObject({ code: 1, stdout: "" });
    expect(nobody.stderr).toContain("Nobody can be asked here");
    const nameless = await home.run(["login"]);
    expect(nameless.code).toBe(1);
    expect(nameless.stdout).toMatch(/^anthropic /m);
    for (const args of [
      ["--remove"],
      ["--key-stdin"],
      ["groq", "--list"],
      ["groq", "--key", secret],
    ])
      expect(await home.run(["login", ...args])).toMatchObject({ code: 2, stdout: "" });
  },
);

test(
  "[K38] no word of a login is repeated: a key typed there is told apart by nobody",
  slow,
  async () => {
    await using home = await Home.make();
    for (const args of [
      [secret],
      ["groq", secret],
      [secret, "--remove"],
      ["groq", `--${secret}`],
      ["groq", `--key=${secret}`],
      ["groq", `-${secret}`],
      ["groq", `--key-stdin=${secret}`],
    ]) {
      const { code, stdout, stderr } = await home.run(["login", ...args]);
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
      expect(stderr).not.toContain(secret);
      if (!args[1]?.includes("stdin")) expect(stderr).toMatch(/key is never an argument/);
    }
  },
);

test("[K38] a pipe in the place of the credentials holds nobody up", slow, async () => {
  await using home = await Home.make();
  await mkdir(home.path(".local/share/lichen"), { recursive: true });
  execFileSync("mkfifo", [stored(home)]);
  for (const args of [["--list"], ["groq", "--key-stdin"]]) {
    const { code, stderr } = await home.run(["login", ...args], { input: secret });
    expect({ args, code }).toEqual({ args, code: 1 });
    expect(stderr).toContain("credentials.json is no regular file");
  }
});
