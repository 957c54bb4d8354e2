import {
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { Fault } from "@lichen/wire";
import { expect, test } from "vitest";
import { openCredentials } from "../../src/auth/host/credentials-db.ts";
import { failureOf, signal, withRig } from "./rig.ts";

const key = { id: "key" };

async function withSecrets(
  body: (
    file: string,
    ask: () => Promise<unknown>,
    rig: Parameters<Parameters<typeof withRig>[0]>[0],
  ) => Promise<void>,
): Promise<void> {
  await withRig(async (rig) => {
    const file = join(rig.folder, ".secrets", ".env");
    await mkdir(join(rig.folder, ".secrets"));
    rig.connections["key"] = { auth: { type: "header", secret: "MAIL_KEY" } };
    const { resolver } = await rig.open();
    const ask = async (): Promise<unknown> => {
      const result = await resolver.resolve(key, signal);
      if (result.ok) return result.auth.kind === "header" ? result.auth.headers : result.auth;
      return failureOf(result, rig.server);
    };
    await body(file, ask, rig);
  });
}

test("[V40] a header's secret comes from the environment or .secrets/.env, read at each call", () =>
  withSecrets(async (file, ask, { connections, env, open }) => {
    expect(await ask()).toMatchObject({ code: "auth_not_configured" });
    await writeFile(file, "# mine\nMAIL_KEY='first $& key'\n", { mode: 0o600 });
    expect(await ask()).toEqual({ authorization: "Bearer first $& key" });
    await writeFile(file, "MAIL_KEY=second\n");
    expect(await ask()).toEqual({ authorization: "Bearer second" });
    connections["key"] = { auth: { type: "header", header: "X-Key", secret: "MAIL_KEY" } };
    expect(await ask()).toEqual({ "x-key": "second" });
    connections["key"] = {
      auth: { type: "header", header: "Authorization", format: "Token {}!", secret: "MAIL_KEY" },
    };
    expect(await ask()).toEqual({ authorization: "Token second!" });
    // What of it is secret is told apart, so that it is known where it comes back alone.
    const { resolver } = await open();
    expect(await resolver.resolve({ id: "key" }, new AbortController().signal)).toMatchObject({
      auth: { secrets: ["second"] },
    });
    env["MAIL_KEY"] = "of the host";
    expect(await ask()).toEqual({ authorization: "Token of the host!" });
    expect(await (await open()).state("key")).toEqual({ type: "header", state: "ready" });
  }));

test("[V40] a secret or a header that cannot be sent is refused without being told", () =>
  withSecrets(async (_file, ask, { connections, env }) => {
    env["MAIL_KEY"] = "canary\r\nx-admin: yes";
    expect(await ask()).toMatchObject({ code: "auth_not_configured" });
    env["MAIL_KEY"] = "canary";
    for (const header of ["Host", "Content-Length", "x y", ""]) {
      connections["key"] = { auth: { type: "header", header, secret: "MAIL_KEY" } };
      expect(await ask()).toMatchObject({ code: "auth_not_configured" });
    }
    connections["key"] = { auth: { type: "header", secret: "toString" } };
    expect(await ask()).toMatchObject({ code: "auth_not_configured" });
  }));

test("[V41] a secrets file that others can read, or that is no file of its own, is refused with what to do", () =>
  withSecrets(async (file, ask) => {
    await writeFile(file, "MAIL_KEY=canary\n", { mode: 0o600 });
    for (const mode of [0o640, 0o604, 0o660]) {
      await chmod(file, mode);
      expect(await ask()).toMatchObject({
        code: "auth_not_configured",
        message: expect.stringContaining("chmod 600 .secrets/.env") as string,
      });
    }
    await chmod(file, 0o600);
    expect(await ask()).toEqual({ authorization: "Bearer canary" });
    await rename(file, `${file}.real`);
    await symlink(`${file}.real`, file);
    expect(await ask()).toMatchObject({ message: expect.stringContaining("is a link") as string });
    await rename(file, `${file}.link`);
    execFileSync("mkfifo", ["-m", "600", file]);
    expect(await ask()).toMatchObject({ message: expect.stringContaining("regular") as string });
    await rename(file, `${file}.pipe`);
    await writeFile(file, "x".repeat(70_000), { mode: 0o600 });
    expect(await ask()).toMatchObject({ message: expect.stringContaining("bytes") as string });
  }));

test("[V42] credentials.db and what SQLite puts beside it are their owner's only, and stay so", () =>
  withRig(async ({ path, signedIn, folder }) => {
    signedIn();
    const modes = async (): Promise<string[]> =>
      Promise.all(
        (await readdir(join(folder, "state"))).map(
          async (name) =>
            `${name} ${((await stat(join(folder, "state", name))).mode & 0o777).toString(8)}`,
        ),
      );
    const right = ["credentials.db 600", "credentials.db-shm 600", "credentials.db-wal 600"];
    expect(await modes()).toEqual(right);
    expect((await stat(join(folder, "state"))).mode & 0o077).toBe(0);
    await chmod(path, 0o644);
    const again = await openCredentials(path);
    expect(await modes()).toEqual(right);
    expect(again.of("another").read("mail")).toBeUndefined();
    expect(again.of("agent1").read("mail")).toBeDefined();
    again.close();
  }));

test("[V42] a file that is no such database, or of a newer version, is refused and left as it is", () =>
  withRig(async ({ folder, credentials, path }) => {
    const refusal = async (file: string): Promise<Fault> => {
      const error: unknown = await openCredentials(file).then(
        (opened) => opened.close(),
        (reason: unknown) => reason,
      );
      if (!Fault.is(error)) throw new Error("it was opened", { cause: error });
      expect(error.message).not.toContain(folder);
      return error;
    };
    const other = join(folder, "other.db");
    await writeFile(other, "canary words that are no database ".repeat(40));
    const fault = await refusal(other);
    expect([fault.code, fault.message.includes("canary")]).toEqual(["unreadable", false]);
    expect(await readFile(other, "utf8")).toContain("canary words");
    await symlink(path, join(folder, "link.db"));
    expect((await refusal(join(folder, "link.db"))).message).toContain("regular file");
    credentials.close();
    const { DatabaseSync } = await import("node:sqlite");
    const db = new DatabaseSync(path);
    db.exec("pragma user_version = 99");
    db.close();
    expect((await refusal(path)).message).toContain("newer version");
    const fresh = join(folder, "fresh.db");
    const many = await Promise.all(Array.from({ length: 8 }, () => openCredentials(fresh)));
    for (const one of many) one.close();
  }));
