import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { fileStorage } from "../src/host/node.ts";
import { createClient, memoryStorage, openOutbox } from "../src/index.ts";
import { temporaryFolder } from "./host.ts";
import { itemAt, storageContract } from "./storage.contract.ts";

const folders: string[] = [];
function folder(): string {
  const made = temporaryFolder();
  folders.push(made);
  return join(made, "outbox");
}
afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

storageContract("in memory", () => {
  const storage = memoryStorage();
  return Promise.resolve({ storage, reopen: () => storage });
});
storageContract("in files", () => {
  const path = folder();
  return Promise.resolve({ storage: fileStorage(path), reopen: () => fileStorage(path) });
});

test("[N22] files are their owner's alone, and none is left half written", async () => {
  const path = folder();
  const steps: string[] = [];
  const storage = fileStorage(path, { onStep: (step) => steps.push(step) });
  await storage.put(itemAt(1));
  await storage.putFile("i1-0", new Uint8Array(3));
  expect(steps).toEqual([
    "mkdir",
    ...["create", "write", "sync", "rename", "sync folder"],
    ...["create", "write", "sync", "rename", "sync folder"],
  ]);
  for (const name of ["", "items", "files"])
    expect(statSync(join(path, name)).mode & 0o777).toBe(0o700);
  expect(readdirSync(join(path, "items"))).toEqual(["0000000001-i1.json"]);
  expect(statSync(join(path, "items", "0000000001-i1.json")).mode & 0o777).toBe(0o600);
  for (const name of ["../x", "a/b", ".x", ""])
    await expect(storage.putFile(name, new Uint8Array())).rejects.toThrow("not a name");
});

test("[N22] what stood in the way of its folder once is in the way no more when it is gone", async () => {
  const path = folder();
  writeFileSync(path, "");
  const storage = fileStorage(path);
  await expect(storage.put(itemAt(1))).rejects.toThrow();
  await expect(storage.load()).rejects.toThrow();
  rmSync(path);
  await storage.put(itemAt(1));
  expect((await storage.load()).items).toEqual([itemAt(1)]);
});

test("[N22] what cannot be read is told by name and stays, and the rest is sent", async () => {
  const path = folder();
  mkdirSync(join(path, "items"), { recursive: true });
  writeFileSync(join(path, "items", "0000000001-torn.json"), '{"id":"torn"');
  writeFileSync(join(path, "items", "0000000002-odd.json"), '{"id":"odd","order":"2"}');
  await fileStorage(path).put(itemAt(3));
  const sent: string[] = [];
  const outbox = await openOutbox({
    storage: fileStorage(path),
    client: createClient({
      url: "http://host",
      fetch: (_url, init) => {
        sent.push(init.body as string);
        return Promise.resolve(
          Response.json({ status: "accepted", commandId: "cmd_1" }, { status: 202 }),
        );
      },
    }),
  });
  const done = Promise.withResolvers<void>();
  outbox.subscribe((event) => event.type === "sent" && done.resolve());
  await done.promise;
  expect([...outbox.damaged].sort()).toEqual(["0000000001-torn.json", "0000000002-odd.json"]);
  expect(sent.map((body) => (JSON.parse(body) as { requestId: string }).requestId)).toEqual(["r3"]);
  await outbox.close();
  expect(readFileSync(join(path, "items", "0000000001-torn.json"), "utf8")).toBe('{"id":"torn"');
  expect(readdirSync(join(path, "items"))).toHaveLength(2);
});

test("[N22] pictures and half-written files that nobody owns are swept after a day", async () => {
  const path = folder();
  const storage = fileStorage(path);
  await storage.putFile("kept-0", new Uint8Array(1));
  await storage.putFile("orphan-0", new Uint8Array(1));
  await storage.put(
    itemAt(1, {
      state: "set_aside",
      images: [{ mimeType: "image/png", file: "kept-0", bytes: 1 }],
    }),
  );
  writeFileSync(join(path, "items", ".half.new"), "{");
  const client = createClient({ url: "http://host", fetch: () => new Promise(() => {}) });
  const open = async (later: number): Promise<void> => {
    const outbox = await openOutbox({
      storage,
      client,
      platform: { now: () => Date.now() + later },
    });
    await outbox.close();
  };
  await open(0);
  expect(readdirSync(join(path, "files")).sort()).toEqual(["kept-0", "orphan-0"]);
  await open(25 * 3_600_000);
  expect(readdirSync(join(path, "files"))).toEqual(["kept-0"]);
  expect(readdirSync(join(path, "items"))).toEqual(["0000000001-i1.json"]);
});
