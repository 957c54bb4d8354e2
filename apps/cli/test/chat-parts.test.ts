import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noUsage, type SessionInfo } from "@lichen/wire";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Attachments, pastedData, pastedPath, pathOf } from "../src/chat/attachments.ts";
import { quiet } from "../src/chat/quiet.ts";
import { Seen } from "../src/chat/seen.ts";

const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lichen-chat-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test.for([
  ["/pictures/a.png", "/pictures/a.png"],
  [" '/pictures/my cat.JPG' ", "/pictures/my cat.JPG"],
  ['"/pictures/my cat.webp"', "/pictures/my cat.webp"],
  ["/pictures/my\\ cat.gif", "/pictures/my cat.gif"],
  ["file:///pictures/my%20cat.jpeg", "/pictures/my cat.jpeg"],
  ["cat.png", "/home/ada/cat.png"],
] as const)("[U12] %s is pasted as the image that it names", ([pasted, path]) => {
  expect(pastedPath(pasted, "/home/ada")).toBe(path);
});

test.for(["", "look at cat.png\nplease", "notes.txt", "file://%ff/a.png", "a picture"])(
  "[U12] %j stays text when it is pasted",
  (pasted) => {
    expect(pastedPath(pasted, "/home/ada")).toBeUndefined();
  },
);

test("[U12] a pasted data URL is its bytes, and nothing else is", () => {
  expect(pastedData(`data:image/png;base64,${png.toString("base64")}`)).toEqual(png);
  expect(pastedData("data:text/html;base64,aGk=")).toBeUndefined();
  expect(pastedData("data:image/png;base64,!!")).toBeUndefined();
});

test("[U12] an image is held as it was when it was attached", async () => {
  const path = join(folder, "cat.png");
  await writeFile(path, png);
  const attachments = new Attachments();
  await attachments.addFile(path);
  await writeFile(path, "gone");
  expect(attachments.take()).toEqual([{ name: "cat.png", mimeType: "image/png", data: png }]);
  expect(attachments.all).toEqual([]);
});

test("[U12] what cannot be attached is refused with what to do, and what was attached stays", async () => {
  const attachments = new Attachments();
  attachments.add("one", png);
  const text = join(folder, "text.png");
  await writeFile(text, "no image");
  await expect(attachments.addFile(text)).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("PNG, JPEG, GIF, WebP"),
  });
  await expect(attachments.addFile(join(folder, "none.png"))).rejects.toMatchObject({
    message: expect.stringContaining("check the path"),
  });
  await expect(attachments.addFile(folder)).rejects.toMatchObject({
    message: expect.stringContaining("no regular file"),
  });
  const large = Buffer.concat([png, Buffer.alloc(12 * 1_048_576)]);
  expect(() => attachments.add("large", large)).toThrow("11 MiB together");
  expect(attachments.all.map(({ name }) => name)).toEqual(["one"]);
});

test("[U12] a path is read from where the chat was started, and from home after a tilde", () => {
  expect(pathOf("a.png", "/home/ada")).toBe("/home/ada/a.png");
  expect(pathOf("/a.png", "/home/ada")).toBe("/a.png");
  expect(pathOf("~/a.png", "/home/ada")).toMatch(/^\/.*\/a\.png$/);
});

const info = (session: string, head: number, lastAt: string): SessionInfo => ({
  session,
  agent: "a",
  epoch: "e",
  state: "idle",
  head,
  pending: 0,
  approvals: 0,
  turns: 1,
  usage: noUsage,
  createdAt: lastAt,
  lastAt,
});
const before = "2026-01-01T00:00:00.000Z";
const later = "2026-03-01T00:00:00.000Z";

test("[U10] what was there before the first chat is read, and what comes later is not", async () => {
  const path = join(folder, "first", "seen.json");
  const seen = await Seen.open(path, new Date("2026-02-01T00:00:00.000Z"));
  expect(seen.isUnread(info("old", 9, before))).toBe(false);
  expect(seen.isUnread(info("new", 1, later))).toBe(true);
  seen.mark("new", 1);
  expect(seen.isUnread(info("new", 1, later))).toBe(false);
  expect(seen.isUnread(info("new", 2, later))).toBe(true);
  await seen.saved();

  const again = await Seen.open(path, new Date("2026-05-01T00:00:00.000Z"));
  expect(again.isUnread(info("new", 1, later))).toBe(false);
  expect(again.isUnread(info("other", 1, later))).toBe(true);
});

test("[U10] two chats add to what is read, and none takes from the other", async () => {
  const path = join(folder, "two", "seen.json");
  const now = new Date(before);
  const one = await Seen.open(path, now);
  await one.saved();
  const two = await Seen.open(path, now);
  one.mark("a", 5);
  await one.saved();
  two.mark("b", 7);
  two.mark("a", 3);
  await two.saved();
  expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({ heads: { a: 5, b: 7 } });
});

test("[U10] a damaged file of marks is begun anew", async () => {
  const path = join(folder, "damaged.json");
  await writeFile(path, '{"heads":');
  const seen = await Seen.open(path, new Date(later));
  expect(seen.isUnread(info("old", 9, before))).toBe(false);
  await seen.saved();
  expect(JSON.parse(await readFile(path, "utf8"))).toEqual({ since: later, heads: {} });
});

test("[U14] what others print while the screen is shown is told line by line, and printed again afterwards", () => {
  const told: string[] = [];
  const { console: printer } = globalThis;
  const written = () => Object.getOwnPropertyDescriptor(process.stdout, "write")?.value as unknown;
  const before = written();
  const loud = quiet(
    (line) => told.push(line),
    () => false,
  );
  try {
    console.log("from a tool %d", 1);
    process.stderr.write("half ");
    process.stderr.write("a line\nrest");
    process.stdout.write(" of it\n");
  } finally {
    loud();
  }
  expect(told).toEqual(["from a tool 1", "half a line", "rest of it"]);
  expect(globalThis.console).toBe(printer);
  expect(written()).toBe(before);
});
