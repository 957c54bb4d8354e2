// An MCP server that is a program: what it is given, how it ends, and what is left of it.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { StdioTransport } from "../../src/connectors/host/stdio-transport.ts";
import { allOf, connector, failureOf, resolving, soon, temporary, told } from "./servers.ts";

const scripted = join(import.meta.dirname, "programs/scripted.ts");

function program(...args: string[]) {
  return { command: process.execPath, args: [scripted, ...args] };
}

describe("what it is given", () => {
  it("[M4] is PATH, a HOME of its own and what its connection names, and nothing else of its host", async () => {
    process.env["LICHEN_TEST_CANARY"] = "of the host";
    try {
      const server = await connector({ ...program(), env: { PLAIN: "value" } });
      const env = await server.call("env", {}, told().context);
      expect(env).toEqual({
        PATH: process.env["PATH"],
        HOME: expect.stringContaining("lichen-mcp-"),
        PLAIN: "value",
      });
    } finally {
      delete process.env["LICHEN_TEST_CANARY"];
    }
  });

  it("[M4] is a secret by its name, read when it starts and again when it is started again", async () => {
    let secret = "first-canary-value";
    const journal = join(await temporary(), "journal");
    const names: string[] = [];
    const server = await connector(
      { ...program("well", journal), env: { TOKEN: { secret: "THE_TOKEN" } } },
      { secret: (name) => (names.push(name), secret) },
    );
    // M5: what it was given does not come back.
    expect(await server.call("env", {}, told().context)).toMatchObject({ TOKEN: "[redacted]" });
    const error = await failureOf(server.call("die", {}, told().context));
    expect(error).toMatchObject({ code: "unavailable" });
    expect(error.message).toContain("ended with code 3");
    expect(error.message).toContain("cannot go on with [redacted]");
    expect(allOf(error)).not.toContain("canary");
    secret = "other-canary-value";
    await server.call("env", {}, told().context);
    expect(names.length).toBeGreaterThanOrEqual(2);
    const lines = (await readFile(journal, "utf8")).split("\n");
    expect(lines.filter((line) => line === "call die")).toHaveLength(1);
    expect(lines.filter((line) => line === "started")).toHaveLength(2);
  });

  it("[M4] is the token of its connection's auth where it asks for it", async () => {
    let token = "token-of-the-connection";
    const resolver = resolving(() => ({ kind: "oauth", token, version: "1" }));
    const { HOME } = { HOME: await temporary() };
    const server = await connector(
      { ...program(), env: { TOKEN: { auth: "token" }, OTHER: "plain" } },
      { resolver, home: () => HOME },
    );
    expect(await server.call("env", {}, told().context)).toEqual({
      PATH: process.env["PATH"],
      HOME,
      TOKEN: "[redacted]",
      OTHER: "plain",
    });
    expect(resolver.asked).toBe(1);
    token = "";
  });

  it("[M4] is nothing at all where a secret is not set: it is not started", async () => {
    const journal = join(await temporary(), "journal");
    const server = await connector({
      ...program("well", journal),
      env: { TOKEN: { secret: "NOT_SET" } },
    });
    await expect(server.operations(soon())).rejects.toMatchObject({
      code: "auth_not_configured",
      message: expect.stringContaining("NOT_SET"),
    });
    await expect(readFile(journal, "utf8")).rejects.toThrow("ENOENT");
  });
});

describe("how it is spoken to", () => {
  it("[M2] is in the older revision where the program ends when it is asked for the newer", async () => {
    const journal = join(await temporary(), "journal");
    const server = await connector(program("strict", journal));
    expect((await server.operations(soon())).map(({ name }) => name)).toContain("env");
    const lines = (await readFile(journal, "utf8")).trim().split("\n");
    expect(lines).toEqual([
      "started",
      "server/discover",
      "started",
      "initialize",
      "notifications/initialized",
      "tools/list",
    ]);
  });

  it("[M11] goes on past what is no message", async () => {
    const server = await connector(program());
    expect(await server.call("noise", {}, told().context)).toBe("heard");
  });
});

describe("an answer that is none", () => {
  it.each(["number", "nothing", "badError", "both", "unsaid", "broken", "deep", "many"])(
    "[M12] fails its call at once, and says that its effect is not known: %s",
    async (name) => {
      const server = await connector(program());
      await expect(server.call(name, {}, told().context)).rejects.toMatchObject({
        code: "invalid_result",
        message: expect.stringContaining("effect is not known: check before"),
      });
      expect(await server.call("noise", {}, told().context)).toBe("heard");
    },
  );

  it("[M12] is told as the server tells it where that could not read the call", async () => {
    const server = await connector(program());
    await expect(server.call("unread", {}, told().context)).rejects.toMatchObject({
      code: "mcp_error",
      message: expect.stringContaining("Parse error"),
    });
  });

  it("[M12] is taken where it only holds more than it should, or comes in a list", async () => {
    const server = await connector(program());
    expect(await server.call("extra", {}, told().context)).toBe("here");
    expect(await server.call("list", {}, told().context)).toBe("one of several");
  });

  it("[M12] is told at the end of the wait, with the lines that came in its place", async () => {
    const server = await connector(program(), { callMs: 500 });
    const failure = await failureOf(server.call("notes", {}, told().context));
    expect(failure.code).toBe("timeout");
    expect(failure.message).toContain("2 lines that are no message");
    expect(failure.message).toContain("half an answer");
    expect(failure.message).toContain("Whether the call took effect is not known");
    expect(failure.message).not.toContain("Try again");
  });
});

describe("how it ends", () => {
  it("[M11] fails the call that was under way where it ends, and where it closes its output", async () => {
    const server = await connector(program());
    for (const way of ["die", "close"]) {
      await expect(server.call(way, {}, told().context)).rejects.toMatchObject({
        code: "unavailable",
      });
      expect(await server.call("noise", {}, told().context)).toBe("heard");
    }
  });

  it("[M12] is after a bound where it never answers, also while it is opened", async () => {
    const silent = await connector(program("silent"), { openMs: 300 });
    await expect(silent.operations(soon())).rejects.toMatchObject({ code: "timeout" });
    const server = await connector(program(), { callMs: 300 });
    await expect(server.call("hang", {}, told().context)).rejects.toMatchObject({
      code: "timeout",
    });
  });

  it("[M13] is at once where it says more than is read", async () => {
    const server = await connector(program(), { limitBytes: 1_000_000 });
    await expect(server.call("big", {}, told().context)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("more than 1000000 bytes"),
    });
    expect(await server.call("noise", {}, told().context)).toBe("heard");
  });

  it("[M14] is with all that it started when its connection is closed", async () => {
    const server = await connector(program());
    const pids = String(await server.call("child", {}, told().context))
      .split(" ")
      .map(Number);
    expect(pids.map(isAlive)).toEqual([true, true]);
    await server.close?.();
    await expect.poll(() => pids.map(isAlive)).toEqual([false, false]);
  });

  it("[M14] is before it begins where its connection is closed while it is started", async () => {
    const home = await temporary();
    const journal = join(home, "journal");
    const place = Promise.withResolvers<void>();
    let released = 0;
    const { command, args } = program("well", journal);
    const server = new StdioTransport(
      { ...{ connectionId: "test", command, args, env: {} }, secrets: [], limitBytes: 1_000 },
      async () => {
        await place.promise;
        const path = process.env["PATH"] ?? "";
        return { ...{ path, home, cwd: home }, release: async () => void released++ };
      },
    );
    const started = server.start();
    const closed = server.close();
    place.resolve();
    await expect(started).rejects.toMatchObject({ code: "unavailable" });
    await closed;
    expect(released).toBe(1);
    await expect(readFile(journal, "utf8")).rejects.toThrow("ENOENT");
  });

  it("[M20] is told by its code where it failed, also to who closes it before that is known", async () => {
    const home = await temporary();
    const server = new StdioTransport(
      {
        ...{ connectionId: "test", command: "sh", args: ["-c", "echo no >&2; exit 7"], env: {} },
        ...{ secrets: [], limitBytes: 1_000 },
      },
      async () => ({ path: process.env["PATH"] ?? "", home, cwd: home, release: async () => {} }),
    );
    await server.start();
    await server.close();
    expect(server.ending()).toBe("It ended with code 7. Its last words: no");
  });

  it("[M14] leaves nothing of its place behind where it cannot be walled in", async () => {
    const home = await temporary();
    let released = 0;
    const { command, args } = program();
    const server = new StdioTransport(
      { ...{ connectionId: "test", command, args, env: {} }, secrets: [], limitBytes: 1_000 },
      async () => ({
        ...{ path: process.env["PATH"] ?? "", home, cwd: home },
        wrap: () => {
          throw new Error("no wall");
        },
        release: async () => void released++,
      }),
    );
    await expect(server.start()).rejects.toThrow("no wall");
    await server.close();
    expect(released).toBe(1);
  });

  it("[M14] is when its host dies without a word", async () => {
    const host = spawn(
      process.execPath,
      [join(import.meta.dirname, "programs/host.ts"), process.execPath, scripted],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const pid = await new Promise<number>((resolve) =>
      host.stdout.once("data", (line) => resolve(Number(String(line).trim()))),
    );
    expect(isAlive(pid)).toBe(true);
    host.kill("SIGKILL");
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it("[M4] is told where there is no such program", async () => {
    const server = await connector({ command: "no-such-program-here" });
    await expect(server.operations(soon())).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("no such program"),
    });
  });
});

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
