import { chmod, lstat, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { plistText, unitText } from "../src/service/unit.ts";
import { writeAgent } from "./agent.ts";
import { bin, Home } from "./process.ts";

// Many processes, on a computer that may be busy.
const slow = { timeout: 240_000 };

/** A `systemctl` that writes down what it is told; `fails` makes it refuse. */
async function fakeManager(home: Home, fails = false): Promise<{ PATH: string }> {
  const dir = home.path("bin");
  await mkdir(dir);
  const log = home.path("told");
  const end = fails ? 'echo "Failed to connect to bus" >&2; exit 1' : "echo active";
  for (const name of ["systemctl", "loginctl"]) {
    await writeFile(`${dir}/${name}`, `#!/bin/sh\necho "${name} $*" >> '${log}'\n${end}\n`);
    await chmod(`${dir}/${name}`, 0o755);
  }
  return { PATH: `${dir}:/usr/bin:/bin` };
}

async function told(home: Home): Promise<string[]> {
  if (!existsSync(home.path("told"))) return [];
  return (await readFile(home.path("told"), "utf8")).trim().split("\n");
}

test(
  "[UP13] service install writes a unit that starts up through a login shell, and doing it again changes nothing",
  slow,
  async () => {
    await using home = await Home.make();
    const env = await fakeManager(home);
    const args = ["service", "install", "--state", "a place's $HOME 100%", "--port", "0"];
    const first = await home.run(args, { env });
    const path = home.path(".config/systemd/user/lichen.service");
    expect(first).toMatchObject({ code: 0, stdout: `${path}\n` });
    expect(first.stderr).toContain("loginctl enable-linger");
    const text = await readFile(path, "utf8");
    const state = `'${home.path("a place")}'\\\\''s $$HOME 100%%'`;
    expect(text).toContain(
      `ExecStart=/bin/sh -lc "exec ${process.execPath} ${bin} up --state ${state} --port 0"\n`,
    );
    expect(text).toMatch(/^Restart=on-failure$/m);
    expect(text).toMatch(/^WantedBy=default.target$/m);
    expect((await told(home)).filter((line) => line.startsWith("systemctl"))).toEqual([
      "systemctl --user daemon-reload",
      "systemctl --user enable lichen.service",
      "systemctl --user restart lichen.service",
    ]);
    const again = await home.run(args, { env });
    expect(again.code).toBe(0);
    expect(again.stderr).toContain("installed already");
    expect(await readFile(path, "utf8")).toBe(text);

    const dir = await writeAgent(home);
    expect((await home.run(["service", "install", dir], { env })).code).toBe(0);
    expect(await readFile(path, "utf8")).toContain(` ${bin} up ${dir}"\n`);
    const nowhere = await home.run(["service", "install", "nowhere"], { env });
    expect(nowhere).toMatchObject({ code: 1, stdout: "" });

    const status = await home.run(["service", "status", "--json"], { env });
    expect(JSON.parse(status.stdout)).toEqual({
      ...{ installed: true, state: "active", path, url: null },
    });
    expect(status.code).toBe(1);
    expect(await home.run(["service", "uninstall"], { env })).toMatchObject({ code: 0 });
    expect(existsSync(path)).toBe(false);
    expect((await told(home)).slice(-2)).toEqual([
      "systemctl --user disable --now lichen.service",
      "systemctl --user daemon-reload",
    ]);
    const none = await home.run(["service", "uninstall"], { env });
    expect(none).toMatchObject({ code: 0, stderr: "no service is installed\n" });
  },
);

test("[UP13] a shell reads the unit's command back word for word", slow, async () => {
  await using home = await Home.make();
  const words = ["it's", 'a "quote"', "$HOME", "back\\slash", "100%", "`x`", "two  blanks"];
  const text = unitText(["/usr/bin/printf", "%s\\n", ...words]);
  const [, quoted = ""] = /^ExecStart=\/bin\/sh -lc "(.*)"$/m.exec(text) ?? [];
  // As systemd reads one argument in double quotes.
  const line = quoted.replaceAll(/\\(.)/g, "$1").replaceAll("%%", "%").replaceAll("$$", "$");
  const { stdout } = await home.run(["-c", line], { program: ["/bin/sh"] });
  expect(stdout.trimEnd().split("\n")).toEqual(words);
  expect(plistText(["/a<b", "up"], "/log")).toContain(
    "<string>exec &apos;/a&lt;b&apos; up</string>".replaceAll("&apos;", "'"),
  );
});

test(
  "[UP13] where there is no manager of services, or none of this user, service says what to do",
  slow,
  async () => {
    await using home = await Home.make();
    await mkdir(home.path("empty"));
    const none = await home.run(["service", "install"], { env: { PATH: home.path("empty") } });
    expect(none.code).toBe(1);
    expect(none.stderr).toMatch(
      /There is no manager of services .*systemctl was not found.*lichen up/,
    );
    const refusing = await home.run(["service", "install"], { env: await fakeManager(home, true) });
    expect(refusing.code).toBe(1);
    expect(refusing.stderr).toMatch(/Failed to connect to bus.*XDG_RUNTIME_DIR/);
  },
);

test(
  "[UP31] a service that cannot be installed leaves nothing, or what was there before; one whose manager is out of reach is taken away all the same",
  slow,
  async () => {
    await using home = await Home.make();
    const path = home.path(".config/systemd/user/lichen.service");
    const refusing = { env: await fakeManager(home, true) };
    expect((await home.run(["service", "install"], refusing)).code).toBe(1);
    expect(existsSync(path)).toBe(false);
    const link = home.path(".config/systemd/user/default.target.wants/lichen.service");
    await mkdir(home.path(".config/systemd/user/default.target.wants"), { recursive: true });
    await writeFile(path, "what was there before\n");
    await symlink(path, link);
    expect((await home.run(["service", "install"], refusing)).code).toBe(1);
    expect(await readFile(path, "utf8")).toBe("what was there before\n");
    const gone = await home.run(["service", "uninstall"], refusing);
    expect(gone).toMatchObject({ code: 0, stdout: `${path}\n` });
    expect(gone.stderr).toMatch(
      /not started again; what runs of it now could not be stopped\. .*connect to bus/,
    );
    expect(existsSync(path)).toBe(false);
    await expect(lstat(link)).rejects.toThrow("ENOENT");
  },
);
