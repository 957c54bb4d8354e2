import { expect, test } from "vitest";
import {
  createClient,
  memoryStorage,
  openOutbox,
  type Outbox,
  type OutboxEvent,
  type Outgoing,
  settled,
} from "../src/index.ts";
import { HandClock } from "./hand-clock.ts";
import { type Asked, HandHost } from "./hand-host.ts";
import { openTestHost } from "./host.ts";
import { hurry } from "./hurry.ts";
import { png, prompt } from "./messages.ts";
import { codeOf } from "./session.contract.ts";

async function openHand(storage = memoryStorage()) {
  const host = new HandHost();
  const clock = new HandClock();
  const client = createClient({ url: "http://host", fetch: host.fetch, platform: clock });
  const outbox = await openOutbox({ client, storage, platform: clock });
  const events: OutboxEvent[] = [];
  let changed = Promise.withResolvers<void>();
  outbox.subscribe((event) => {
    events.push(event);
    changed.resolve();
    changed = Promise.withResolvers();
  });
  const event = async (type: OutboxEvent["type"], count = 1): Promise<OutboxEvent> => {
    for (;;) {
      const found = events.filter((it) => it.type === type);
      if (found.length >= count) return found[count - 1]!;
      await changed.promise;
    }
  };
  return { host, clock, outbox, storage, events, event };
}

const message = (text: string, session = "s", extra: Partial<Outgoing> = {}): Outgoing => ({
  agent: "a",
  session,
  command: { type: "prompt", text },
  ...extra,
});
const bodyOf = (asked: Asked): Record<string, unknown> =>
  JSON.parse(asked.init.body as string) as Record<string, unknown>;
const accept = (asked: Asked, commandId = "cmd_1"): void =>
  asked.answer({ status: "accepted", commandId }, 202);
const refuse = (asked: Asked, code: string, status: number, retryable = false): void =>
  asked.answer({ error: { code, message: `refused: ${code}`, retryable } }, status);
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const statesOf = (outbox: Outbox): string[] => outbox.items.map((item) => item.state);

test("[N17] messages of a session go one after the other in their order, and sessions do not wait for each other", async () => {
  const { host, outbox, event } = await openHand();
  const slow = Promise.withResolvers<ArrayBuffer>();
  const adding = [
    outbox.add(
      message("one", "s", {
        images: [{ mimeType: "image/png", data: { arrayBuffer: () => slow.promise } }],
      }),
    ),
    outbox.add(message("two")),
    outbox.add(message("other", "t")),
  ];
  const other = await host.next();
  expect(other.url).toContain("/sessions/t/commands");
  await adding[1];
  expect(host.asked).toHaveLength(1);
  slow.resolve(new ArrayBuffer(2));
  await adding[0];
  const first = await host.next();
  expect(bodyOf(first)).toMatchObject({
    text: "one",
    images: [{ mimeType: "image/png", data: "AAA=" }],
  });
  accept(other);
  expect(host.asked).toHaveLength(2);
  accept(first);
  const second = await host.next();
  expect(bodyOf(second)["text"]).toBe("two");
  accept(second);
  await event("sent", 3);
  expect(outbox.items).toEqual([]);
  await outbox.close();
});

test("[N18] after a lost answer and after a restart the same request id is sent", async () => {
  const { host, clock, outbox, storage, event } = await openHand();
  const item = await outbox.add(message("one"));
  const first = await host.next();
  expect(bodyOf(first)["requestId"]).toBe(item.requestId);
  first.fail(new TypeError("the answer was lost"));
  expect(await event("trouble")).toMatchObject({
    item: { id: item.id },
    reason: { code: "unavailable" },
  });
  await clock.waiting(500);
  clock.advance(500);
  const second = await host.next();
  expect(bodyOf(second)).toEqual(bodyOf(first));
  await outbox.close();
  accept(second);

  const again = await openHand(storage);
  const third = await again.host.next();
  expect(bodyOf(third)).toEqual(bodyOf(first));
  third.answer({ status: "accepted", commandId: "cmd_1", replay: true });
  expect(await again.event("sent")).toMatchObject({ receipt: { replay: true } });
  expect(await storage.load()).toEqual({ items: [], damaged: [] });
  await again.outbox.close();
});

test("[N18] adding the same request id again adds nothing, and other words under it are refused", async () => {
  const { outbox } = await openHand();
  const command = { type: "prompt", text: "one", requestId: "mine" } as const;
  const added = await Promise.all([
    outbox.add({ agent: "a", session: "s", command }),
    outbox.add({ agent: "a", session: "s", command }),
  ]);
  expect(added[0]).toEqual(added[1]);
  expect(outbox.items).toHaveLength(1);
  expect(
    await codeOf(() =>
      outbox.add({ agent: "a", session: "s", command: { ...command, text: "two" } }),
    ),
  ).toBe("conflict");
  await outbox.add({ agent: "a", session: "t", command });
  expect(
    await codeOf(() =>
      outbox.add(
        message("x", "s", { images: [{ mimeType: "image/tiff", data: new Uint8Array() }] }),
      ),
    ),
  ).toBe("invalid");
  expect(outbox.items).toHaveLength(2);
  await outbox.close();
  expect(await codeOf(() => outbox.add(message("late")))).toBe("unavailable");
});

test("[N19] a permanent refusal is set aside with its reason, what is behind it goes, and it can be tried again", async () => {
  const { host, outbox, event, storage } = await openHand();
  const item = await outbox.add(message("one"));
  await outbox.add(message("two"));
  refuse(await host.next(), "too_large", 413);
  await event("set_aside");
  const second = await host.next();
  expect(bodyOf(second)["text"]).toBe("two");
  accept(second);
  await event("sent");
  expect(outbox.items).toMatchObject([
    {
      id: item.id,
      state: "set_aside",
      reason: { code: "too_large", message: "refused: too_large" },
    },
  ]);
  expect((await storage.load()).items).toEqual(outbox.items);

  await outbox.retry(item.id);
  const again = await host.next();
  expect(bodyOf(again)["requestId"]).toBe(item.requestId);
  refuse(again, "withdrawn", 409);
  await event("set_aside", 2);
  await outbox.retry(item.id);
  const fresh = await host.next();
  expect(bodyOf(fresh)["requestId"]).not.toBe(item.requestId);
  refuse(fresh, "closed", 409);
  await event("set_aside", 3);
  expect(await codeOf(() => outbox.recall(item.id))).toBe("conflict");
  await outbox.discard(item.id);
  expect(await storage.load()).toEqual({ items: [], damaged: [] });
  await outbox.close();
});

test("[N19] what concerns the host or who asks, and not the message, holds it back and sets nothing aside", async () => {
  const { host, clock, outbox, events } = await openHand();
  await outbox.add(message("one"));
  for (const [code, status, retryable] of [
    ["unavailable", 503, true],
    ["capacity", 429, true],
    ["unauthenticated", 401, false],
    ["unreadable", 500, false],
  ] as const) {
    const asked = await host.next();
    const armed = clock.armed();
    refuse(asked, code, status, retryable);
    await armed;
    expect(statesOf(outbox)).toEqual(["waiting"]);
    outbox.wake();
  }
  accept(await host.next());
  while (outbox.items.length > 0) await turn();
  expect(events.map((it) => it.type)).not.toContain("set_aside");
  await outbox.close();
});

test("[N20] a draft is restored once the host has answered `unknown`, and not before", async () => {
  const { host, clock, outbox, event, storage } = await openHand();
  const item = await outbox.add(
    message("one", "s", { images: [{ mimeType: "image/png", data: new Uint8Array([1, 2]) }] }),
  );
  const sending = await host.next();
  const recall = outbox.recall(item.id);
  sending.fail(new TypeError("the answer was lost"));
  await event("trouble");
  expect(statesOf(outbox)).toEqual(["withdrawing"]);
  await clock.waiting(500);
  clock.advance(500);
  const first = await host.next();
  expect(first.url).toContain("/withdraw");
  expect(bodyOf(first)).toEqual({ requestId: item.requestId });
  first.fail(new TypeError("the answer was lost"));
  await clock.waiting(1_000);
  expect(statesOf(outbox)).toEqual(["withdrawing"]);
  await outbox.close();
  expect(await codeOf(() => recall)).toBe("unavailable");
  expect(await codeOf(() => outbox.recall(item.id))).toBe("unavailable");

  const later = await openHand(storage);
  const second = await later.host.next();
  expect(bodyOf(second)).toEqual({ requestId: item.requestId });
  second.answer({ status: "unknown" });
  await later.event("restored");
  expect(await later.outbox.recall(item.id)).toEqual({ status: "restored" });
  expect(await later.outbox.draft(item.id)).toMatchObject({
    command: { text: "one" },
    images: [{ mimeType: "image/png", data: new Uint8Array([1, 2]) }],
  });
  await later.outbox.close();
  expect((await storage.load()).items).toMatchObject([{ state: "restored" }]);
  const last = await openHand(storage);
  await last.outbox.discard(item.id);
  expect(await storage.load()).toEqual({ items: [], damaged: [] });
  expect(await storage.filesBefore(Number.POSITIVE_INFINITY)).toEqual([]);
  await last.outbox.close();
});

test("[N20] what had been admitted is cancelled while it waits, and only then; it is never a draft again", async () => {
  for (const [status, expected] of [
    ["accepted", "cancelled"],
    ["too_late", "sent"],
  ] as const) {
    const { host, outbox, storage } = await openHand();
    const item = await outbox.add(message("one"));
    const sending = await host.next();
    const recall = outbox.recall(item.id);
    while (statesOf(outbox)[0] !== "withdrawing") await turn();
    accept(sending, "cmd_7");
    (await host.next()).answer({ status: "accepted", commandId: "cmd_7" });
    const cancel = await host.next();
    expect(bodyOf(cancel)).toMatchObject({
      type: "cancel",
      commandId: "cmd_7",
      onlyIfPending: true,
    });
    cancel.answer({ status, commandId: "cmd_7" }, 202);
    expect(await recall).toEqual({ status: expected, commandId: "cmd_7" });
    expect(await storage.load()).toEqual({ items: [], damaged: [] });
    expect(await outbox.recall(item.id)).toEqual({ status: "sent" });
    await outbox.close();
  }
});

test("[N20] against a real host, a message that waits behind an unreachable one is fenced and can be written anew", async () => {
  await using host = await openTestHost({ script: [{ say: "ok" }] });
  let isCut = true;
  const client = host.client({
    platform: hurry,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (!isCut) return response;
      // The host has answered, and nobody hears it.
      await response.arrayBuffer();
      throw new TypeError("the answer was lost");
    },
  });
  const outbox = await openOutbox({ client, storage: memoryStorage(), platform: hurry });
  const trouble = Promise.withResolvers<void>();
  outbox.subscribe((event) => event.type === "trouble" && trouble.resolve());
  const first = await outbox.add(message("one"));
  const second = await outbox.add(message("two"));
  await trouble.promise;
  const recall = outbox.recall(second.id);
  isCut = false;
  expect(await recall).toEqual({ status: "restored" });
  const session = host.client().agent("a").session("s");
  expect(await codeOf(() => session.send(prompt(second.requestId, "two")))).toBe("withdrawn");
  await outbox.discard(second.id);
  const third = await outbox.add(message("two, better"));
  expect(third.requestId).not.toBe(second.requestId);
  while (outbox.items.length > 0) await turn();
  for (const { requestId } of [first, third]) {
    const { commandId } = await session.send(
      prompt(requestId, requestId === first.requestId ? "one" : "two, better"),
    );
    expect((await settled(session, commandId!)).terminal).toBe("completed");
  }
  const { entries } = await session.read();
  expect(
    entries.filter((entry) => entry.kind === "message.user").map((entry) => entry.data["text"]),
  ).toEqual(["one", "two, better"]);
  await outbox.close();
});

test("[N21] pictures are copied before `add` answers: what happens to the original later does not matter", async () => {
  const { host, outbox } = await openHand();
  const original = new Uint8Array(Buffer.from(png, "base64"));
  await outbox.add(
    message("see", "s", {
      images: [
        { mimeType: "image/png", data: original },
        { mimeType: "image/png", data: new Blob([original]) },
      ],
    }),
  );
  original.fill(0);
  const asked = await host.next();
  expect(bodyOf(asked)["images"]).toEqual([
    { mimeType: "image/png", data: png },
    { mimeType: "image/png", data: png },
  ]);
  accept(asked);
  const broken = outbox.add(
    message("unreadable", "s", {
      images: [
        {
          mimeType: "image/png",
          data: { arrayBuffer: () => Promise.reject(new Error("the file is gone")) },
        },
      ],
    }),
  );
  await expect(broken).rejects.toThrow("the file is gone");
  await outbox.add(message("next"));
  expect(bodyOf(await host.next())["text"]).toBe("next");
  await outbox.close();
});
