// The lease, between real processes.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "@lichen/wire";
import { expect, test } from "vitest";
import { acquireLease } from "../src/host/node/index.ts";

const program = join(import.meta.dirname, "programs/hold-lease.ts");

async function withStore(body: (path: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "lease-"));
  try {
    await body(join(folder, "host.db"));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Another process that tries to take the lease; resolves with what it says. */
async function holder(
  path: string,
): Promise<{ child: ChildProcess; said: string; end(): Promise<void> }> {
  const child = spawn(process.execPath, [program, path], {
    env: {},
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const said = await new Promise<string>((resolve) =>
    child.stdout.once("data", (data: Buffer) => resolve(data.toString().trim())),
  );
  return {
    child,
    said,
    async end() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

async function refusal(path: string): Promise<Fault> {
  const error: unknown = await acquireLease(path).then(
    (lease) => lease.release(),
    (reason: unknown) => reason,
  );
  if (!Fault.is(error)) throw new Error("the lease was given", { cause: error });
  return error;
}

test("[S11] a second owner is refused while the first lives, told what to do, and gets the lease when the first is killed", () =>
  withStore(async (path) => {
    const first = await holder(path);
    expect(first.said).toBe("held");
    const fault = await refusal(path);
    expect(fault.code).toBe("unavailable");
    expect(fault.message).toMatch(/host\.db is in use by another process.*stop that one/);
    expect(fault.message).not.toContain(tmpdir());
    expect((await holder(path)).said).toMatch(/^refused Fault: the store host\.db/);
    await first.end();
    (await acquireLease(path)).release();
  }));

test("[S11] a process that is stopped keeps the lease", () =>
  withStore(async (path) => {
    const first = await holder(path);
    first.child.kill("SIGSTOP");
    // The kernel's own word that it stands still.
    while (!/^State:\tT/m.test(await readFile(`/proc/${first.child.pid}/status`, "utf8")));
    expect((await refusal(path)).code).toBe("unavailable");
    await first.end();
    (await acquireLease(path)).release();
  }));

test("[S11] the lease excludes a second owner in the same process, is refused at once, and can be released and taken again", () =>
  withStore(async (path) => {
    const lease = await acquireLease(path);
    const began = performance.now();
    for (let times = 0; times < 10; times++) expect((await refusal(path)).code).toBe("unavailable");
    expect(performance.now() - began).toBeLessThan(1_000);
    expect((await holder(path)).said).toMatch(/^refused/);
    lease.release();
    lease.release();
    const next = await acquireLease(path);
    expect((await stat(`${path}-lease`)).mode & 0o777).toBe(0o600);
    next.release();
  }));
