import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { bin, Home } from "./process.ts";
import { Terminal } from "./terminal.ts";

// Many processes, on a computer that may be busy.
const slow = { timeout: 120_000 };

const secret = "made-up-key-of-this-test";

function login(home: Home, args: readonly string[], env = {}): Promise<Terminal> {
  return Terminal.open({
    command: process.execPath,
    args: [bin, "login", ...args],
    cwd: home.dir,
    env: { HOME: home.dir, ...env },
  });
}

async function stored(home: Home): Promise<Record<string, Record<string, unknown>>> {
  const text = await readFile(home.path(".local", "share", "lichen", "credentials.json"), "utf8");
  return JSON.parse(text) as Record<string, Record<string, unknown>>;
}

test(
  "[K39] without a provider they are listed and one is asked for; a key is typed without being shown",
  slow,
  async () => {
    await using home = await Home.make();
    await using terminal = await login(home, []);
    await terminal.until("Sign in to which one?");
    await terminal.type("anthropic");
    await terminal.press("Enter");
    await terminal.until(/1 {2}with an account[^]*2 {2}with a key[^]*Number:/);
    await terminal.type("3");
    await terminal.press("Enter");
    await terminal.until("Type a number from 1 to 2.");
    await terminal.type("2");
    await terminal.press("Enter");
    await terminal.until("(it is not shown):");
    await terminal.type(secret);
    await terminal.press("Enter");
    await terminal.until("of its models can be used");
    expect(await terminal.exitCode()).toBe(0);
    expect(terminal.written).not.toContain(secret);
    expect((await terminal.modes()).lineSettings).toBe("as before");
    expect(await stored(home)).toEqual({ anthropic: { type: "api_key", key: secret } });
  },
);

test(
  "[K39] Ctrl-C at a question or a key stores nothing and is 130; a key of the keyboard that is no character is none of the secret",
  slow,
  async () => {
    await using home = await Home.make();
    await using terminal = await login(home, []);
    await terminal.until("Sign in to which one?");
    await terminal.press("C-c");
    expect(await terminal.exitCode()).toBe(130);
    await using second = await login(home, ["groq"]);
    await second.until("(it is not shown):");
    await second.type("half");
    await second.press("C-c");
    await second.until(/othing was stored/);
    expect(await second.exitCode()).toBe(130);
    expect((await second.modes()).lineSettings).toBe("as before");
    await expect(stored(home)).rejects.toThrow("ENOENT");
    await using third = await login(home, ["groq"]);
    await third.until("(it is not shown):");
    await third.press("Up");
    await third.type("made-up-keyx");
    await third.press("Left");
    await third.press("BSpace");
    await third.press("Enter");
    await third.until("Groq: stored in");
    expect(await stored(home)).toEqual({ groq: { type: "api_key", key: "made-up-key" } });
    await using token = await Terminal.open({
      command: process.execPath,
      args: [bin, "attach", "http://127.0.0.1:9"],
      cwd: home.dir,
      env: { HOME: home.dir },
    });
    await token.until("The host's token");
    await token.press("C-c");
    expect(await token.exitCode()).toBe(130);
  },
);

test(
  "[K39] a login with an account shows its address and code, waits for the person, and stores what comes of it",
  slow,
  async () => {
    await using home = await Home.make();
    const polls: string[] = [];
    // The provider's sign-in by device code; the second time it is asked, the person has agreed.
    const provider = createServer((request, response) => {
      const answer = (status: number, body: object) =>
        response
          .writeHead(status, { "content-type": "application/json" })
          .end(JSON.stringify(body));
      if (request.url === "/v1/oauth/device") {
        answer(200, {
          ...{ device_code: "device-secret", user_code: "ABCD-EFGH", interval: 1, expires_in: 600 },
          verification_uri: "https://radius.example/device",
        });
      } else if (polls.push(request.url ?? "") < 2) answer(400, { error: "authorization_pending" });
      else answer(200, { access_token: secret, refresh_token: `${secret}-2`, expires_in: 3_600 });
    });
    await new Promise<void>((resolve) => void provider.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = provider.address() as AddressInfo;
      // The library knows one address of this provider; only the way there is another.
      const detour = home.path("detour.mjs");
      await writeFile(
        detour,
        `const far = globalThis.fetch;
       globalThis.fetch = (url, init) => {
         const { pathname } = new URL(url);
         return far("http://127.0.0.1:${port}" + pathname, init);
       };`,
      );
      const env = { NODE_OPTIONS: `--import=${pathToFileURL(detour).href}` };
      await using terminal = await login(home, ["radius"], env);
      await terminal.until(/1 {2}with an account[^]*Number:/);
      await terminal.type("1");
      await terminal.press("Enter");
      await terminal.until(/Sign in to Radius:[^]*2 {2}Sign in with device code[^]*Number:/);
      await terminal.type("2");
      await terminal.press("Enter");
      await terminal.until(
        /https:\/\/radius\.example\/device[^]*ABCD-EFGH \(good for 10 minutes\)/,
      );
      await terminal.until("of its models can be used");
      expect(await terminal.exitCode()).toBe(0);
      expect(terminal.written).not.toMatch(/made-up|device-secret/);
      expect(polls).toEqual(["/v1/oauth/token", "/v1/oauth/token"]);
      expect(await stored(home)).toMatchObject({ radius: { type: "oauth", access: secret } });
      const file = await stat(home.path(".local", "share", "lichen", "credentials.json"));
      expect(file.mode & 0o777).toBe(0o600);
      const list = await home.run(["login", "--list"]);
      expect(list.stdout).toMatch(/^radius +logged in with a stored account\n/);
    } finally {
      provider.close();
    }
  },
);

test("[K39] a login that waits for an account ends at Ctrl-C", slow, async () => {
  await using home = await Home.make();
  const provider = createServer((request, response) => {
    const body =
      request.url === "/v1/oauth/device"
        ? {
            ...{ device_code: "d", user_code: "WAIT-HERE", interval: 1, expires_in: 600 },
            verification_uri: "https://radius.example/device",
          }
        : { error: "authorization_pending" };
    response.writeHead("error" in body ? 400 : 200).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => void provider.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = provider.address() as AddressInfo;
    const detour = home.path("detour.mjs");
    await writeFile(
      detour,
      `const far = globalThis.fetch;
       globalThis.fetch = (url, init) => far("http://127.0.0.1:${port}" + new URL(url).pathname, init);`,
    );
    const env = { NODE_OPTIONS: `--import=${pathToFileURL(detour).href}` };
    await using terminal = await login(home, ["radius"], env);
    for (const choice of ["1", "2"]) {
      await terminal.until(choice === "1" ? /an account[^]*Number:/ : /device code[^]*Number:/);
      await terminal.type(choice);
      await terminal.press("Enter");
    }
    await terminal.until("WAIT-HERE");
    await terminal.press("C-c");
    await terminal.until("Nothing was stored.");
    expect(await terminal.exitCode()).toBe(130);
    await expect(stored(home)).rejects.toThrow("ENOENT");
  } finally {
    provider.close();
  }
});
