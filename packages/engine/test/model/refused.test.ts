import { afterEach, describe, expect, test } from "vitest";
import { key, type Rig, type RigOptions, startRig, tool, wires } from "./rig.ts";

const dot =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const open: Rig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});

async function start(options: RigOptions): Promise<Rig> {
  const rig = await startRig(options);
  open.push(rig);
  return rig;
}

async function show(rig: Rig, text: string) {
  const images = [{ mimeType: "image/png" as const, data: dot }];
  return rig.settled(await rig.send({ type: "prompt", text, images }));
}

/** How many images each request held; those of results stand in a message of their own on some wires. */
function imagesSent(rig: Rig): number[] {
  const count = (held: readonly { images: readonly unknown[] }[]) =>
    held.reduce((sum, { images }) => sum + images.length, 0);
  return rig.provider.requests.map(({ messages, results }) =>
    Math.max(count(messages), count(results)),
  );
}

const refused = { refuse: "invalid", message: "Could not process image" } as const;

describe.each(wires)("over %s", (wire) => {
  test("[E62] an image that the provider refused fails its own run and no later one, also after a restart", async () => {
    const rig = await start({ wire, script: ["a dot", refused, "fine", "still fine"] });
    expect(await show(rig, "what is this?")).toMatchObject({ answer: "a dot" });
    const failed = await show(rig, "and this?");
    expect(failed).toMatchObject({ terminal: "failed" });
    expect(failed.diagnostic).toMatch(/^scripted\/scripted-1: .*Could not process image$/);
    expect(await rig.prompt("go on")).toMatchObject({ terminal: "completed", answer: "fine" });
    await rig.reopen();
    expect(await rig.prompt("and on")).toMatchObject({ answer: "still fine" });
    expect(imagesSent(rig)).toEqual([1, 2, 1, 1]);
    expect(rig.provider.requests[2]!.messages.map((it) => it.text).join("|")).toContain(
      "left out here: the provider refused it",
    );
  });

  test("[E62] the same of an image that a tool gave", async () => {
    const rig = await start({
      wire,
      tools: [
        tool({
          name: "look",
          label: "read",
          execute: () => ({ content: [{ type: "image", mimeType: "image/png", data: dot }] }),
        }),
      ],
      script: [{ parts: [{ call: { name: "look", input: {} } }] }, refused, "fine"],
    });
    expect(await rig.prompt("look")).toMatchObject({ terminal: "failed" });
    expect(await rig.prompt("go on")).toMatchObject({ answer: "fine" });
    expect(imagesSent(rig)).toEqual([0, 1, 0]);
  });

  test("[E66] a provider's refusal is told by its own sentence, without the JSON around it", async () => {
    const rig = await start({ wire, script: [{ refuse: "invalid", message: "No such thing." }] });
    const { diagnostic } = await rig.prompt("hi");
    expect(diagnostic).toMatch(/^scripted\/scripted-1: .*No such thing\.$/);
    expect(diagnostic).not.toMatch(/[{}]/);
  });
});

test("[E62] a refusal of a text, or for want of money, costs no image", async () => {
  const unpaid = { refuse: "invalid", message: "Your credit balance is too low." } as const;
  const rig = await start({ script: [unpaid, { refuse: "unauthenticated" }, "a dot"] });
  expect(await show(rig, "what is this?")).toMatchObject({ terminal: "failed" });
  expect(await rig.prompt("now?")).toMatchObject({ terminal: "failed" });
  expect(await rig.prompt("and now?")).toMatchObject({ answer: "a dot" });
  expect(imagesSent(rig)).toEqual([1, 1, 1]);
});

test("[E63] what a tool gives as an image and is none becomes words, and a wrong kind the right one", async () => {
  const give = (mimeType: string, data: string) => ({ type: "image", mimeType, data });
  const rig = await start({
    tools: [
      tool({
        name: "look",
        execute: () => ({
          content: [
            give("image/png", "AAAA"),
            give("image/png", ""),
            give("image/svg+xml", btoa("<svg/>")),
            give("image/png", `${dot.slice(0, 40)}%%%%`),
            give("image/jpeg", dot),
          ],
        }),
      }),
    ],
    script: [{ parts: [{ call: { name: "look", input: {} } }] }, "seen"],
  });
  expect(await rig.prompt("look")).toMatchObject({ answer: "seen" });
  const [result] = rig.provider.requests[1]!.results;
  expect(result!.images).toEqual([{ mimeType: "image/png", data: dot }]);
  expect(
    result!.text.match(/gave something as an image, image\/(png|svg\+xml), that is none/g),
  ).toHaveLength(4);
});

test("[E64] a result of any size reaches the model as what fits it; the log keeps the whole", async () => {
  const whole = `BEGIN ${"0123456789".repeat(2_000_000)} END`;
  const rig = await start({
    model: { contextWindow: 40_000 },
    tools: [tool({ name: "dump", label: "read", execute: () => whole })],
    script: [{ parts: [{ call: { name: "dump", input: {} } }] }, "read", "SUMMARY"],
  });
  expect(await rig.prompt("dump")).toMatchObject({ terminal: "completed", answer: "read" });
  const told = rig.provider.requests[1]!.results[0]!.text;
  expect(told.length).toBeLessThanOrEqual((40_000 / 4) * 3.5);
  expect(told).toMatch(/^BEGIN 0123.* characters are left out here.*789 END$/s);
  expect(rig.provider.requests).toHaveLength(2);
  const [entry] = await rig.data("message.tool");
  expect(entry!.content[0]).toMatchObject({ text: { bytes: whole.length } });
  rig.provider.push("next");
  await rig.prompt("thanks");
  const compacted = await rig.settled(await rig.send({ type: "compact" }));
  expect(compacted).toMatchObject({ terminal: "completed" });
});

test("[E65] what the host holds as secret stands in no error that the model reads", async () => {
  const fail = (): never => {
    throw new Error(`401 for ${key} at /srv/app`);
  };
  const rig = await start({
    tools: [
      tool({ name: "throws", execute: fail }),
      tool({
        name: "says",
        execute: () => ({
          content: [{ type: "text", text: `denied: ${key}` }],
          isError: true,
          data: { sent: [key] },
        }),
      }),
      tool({ name: "refuses", execute: () => "never", parse: fail }),
      tool({ name: "asks", execute: () => "never", confirm: fail }),
      tool({ name: "reads", execute: () => `KEY=${key}` }),
    ],
    script: [
      {
        parts: ["throws", "says", "refuses", "asks", "reads"].map((name) => ({
          call: { name, input: {} },
        })),
      },
      "ok",
    ],
  });
  expect(await rig.prompt("go")).toMatchObject({ answer: "ok" });
  const texts = rig.provider.requests[1]!.results.map((it) => it.text);
  expect(texts.slice(0, 4).join("|")).not.toContain(key);
  expect(texts[0]).toBe("401 for [redacted] at /srv/app");
  // A result that is no error is what the tool was asked for.
  expect(texts[4]).toBe(`KEY=${key}`);
  const errors = (await rig.data("message.tool")).filter((it) => it.isError);
  expect(errors).toHaveLength(4);
  expect(JSON.stringify(errors)).not.toContain(key);
});
