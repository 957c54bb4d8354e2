import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, test } from "vitest";
import { connectHost } from "../../src/host/host-file.ts";
import { openStream, sendRequest, temporaryDir } from "./rig.ts";

interface HostProcess {
  readonly child: ChildProcess;
  readonly port: number;
  readonly token: string;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
}

const program = join(import.meta.dirname, "programs", "host.ts");
const folders: string[] = [];
const children: ChildProcess[] = [];

afterEach(async () => {
  for (const child of children.splice(0))
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = temporaryDir();
  folders.push(folder);
  return folder;
}

async function startHost(folder: string, ...more: string[]): Promise<HostProcess> {
  const child = spawn(process.execPath, [program, folder, ...more], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"], HOME: folder },
  });
  children.push(child);
  const ended = new Promise<number | string>((resolve) =>
    child.on("exit", (code, signal) => resolve(code ?? signal ?? "lost")),
  );
  for await (const line of createInterface(child.stdout!)) {
    const { url, token } = JSON.parse(line) as { url: string; token: string };
    return { child, port: Number(new URL(url).port), token, ended };
  }
  throw new Error("The host ended before it listened.");
}

const prompt = (host: HostProcess, requestId: string) =>
  sendRequest(host.port, "/agents/a/sessions/s/commands", {
    token: host.token,
    json: { type: "prompt", requestId, text: "go" },
  });

describe("a host that goes down", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    test(`[H27] at ${signal} it ends its streams, leaves the run to recovery, takes back its file and exits in time`, async () => {
      const folder = newFolder();
      const host = await startHost(folder);
      expect(await connectHost(folder)).toMatchObject({ found: "host", token: host.token });
      const { commandId } = (await prompt(host, "p")).json() as { commandId: string };
      const events = await openStream(host.port, "/agents/a/sessions/s/events", {
        token: host.token,
      });
      await events.until("\n\n");
      const invoked = await openStream(host.port, "/agents/a/invoke", {
        token: host.token,
        json: { session: "t", text: "go", requestId: "i" },
      });
      const waiting = sendRequest(
        host.port,
        `/agents/a/sessions/s/settlement?commandId=${commandId}&timeoutMs=30000`,
        { token: host.token },
      );
      const half = connect(host.port, "127.0.0.1", () =>
        half.write("POST /login HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{"),
      );
      half.on("error", () => {});
      half.resume();

      const began = performance.now();
      host.child.kill(signal);
      expect(await events.rest()).toContain(": closed\n\n");
      expect(await invoked.rest()).toMatch(/data: \{"type":"failed".*"retryable":true/);
      expect([503, 200]).toContain((await waiting).status);
      expect(await host.ended).toBe(0);
      expect(performance.now() - began).toBeLessThan(10_000);
      expect(existsSync(join(folder, "host.json"))).toBe(false);
      expect(await connectHost(folder)).toEqual({ found: "none" });

      writeFileSync(join(folder, "go"), "");
      const again = await startHost(folder);
      expect(again.token).toBe(host.token);
      const settled = await sendRequest(
        again.port,
        `/agents/a/sessions/s/settlement?commandId=${commandId}&timeoutMs=30000`,
        { token: again.token },
      );
      expect(settled.json()).toMatchObject({ terminal: "completed", answer: "done" });
    }, 40_000);

  test("[H27] meanwhile it is found draining, admits nothing, and an engine that does not end cannot hold it", async () => {
    const folder = newFolder();
    const host = await startHost(folder, "stubborn");
    await prompt(host, "p");
    const began = performance.now();
    host.child.kill("SIGTERM");
    const patient = { timeoutMs: 10_000 };
    let found = await connectHost(folder, patient);
    while (found.found === "host" && found.status === "ok")
      found = await connectHost(folder, patient);
    expect(found).toMatchObject({ found: "host", status: "draining" });
    expect((await prompt(host, "q")).status).toBe(503);
    expect(await host.ended).toBe(0);
    expect(performance.now() - began).toBeLessThan(10_000);
  }, 40_000);

  test("[H27] a second signal ends it at once", async () => {
    const folder = newFolder();
    const host = await startHost(folder, "stubborn");
    await prompt(host, "p");
    const events = await openStream(host.port, "/events", { token: host.token });
    host.child.kill("SIGTERM");
    await events.rest();
    host.child.kill("SIGTERM");
    expect(await host.ended).toBe(143);
  }, 40_000);

  test("[H19] after SIGKILL its stale file finds none, and a new host takes the place", async () => {
    const folder = newFolder();
    const host = await startHost(folder);
    host.child.kill("SIGKILL");
    expect(await host.ended).toBe("SIGKILL");
    expect(existsSync(join(folder, "host.json"))).toBe(true);
    expect(await connectHost(folder)).toEqual({ found: "none" });
    const again = await startHost(folder);
    expect(await connectHost(folder)).toMatchObject({
      found: "host",
      url: `http://127.0.0.1:${again.port}`,
    });
  }, 40_000);
});
