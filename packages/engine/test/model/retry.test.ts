import { createServer, type Server } from "node:http";
import { createAssistantMessageEventStream } from "@earendil-works/pi-ai/utils/event-stream";
import type { AssistantMessage, AssistantMessageEvent } from "@earendil-works/pi-ai";
import { afterEach, expect, test } from "vitest";
import { noUsage } from "../../src/model/context.ts";
import {
  defaultRetry,
  type Retry,
  type RetryOptions,
  streamWithRetry,
} from "../../src/model/retry.ts";

const model = { provider: "p", api: "a", id: "m" };
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

function message(given: Partial<AssistantMessage> = {}): AssistantMessage {
  return {
    role: "assistant",
    content: [],
    provider: "p",
    api: "a",
    model: "m",
    usage: noUsage(),
    stopReason: "stop",
    timestamp: 0,
    ...given,
  };
}

function played(...events: AssistantMessageEvent[]) {
  const stream = createAssistantMessageEventStream();
  for (const event of events) stream.push(event);
  return stream;
}

function failing(errorMessage: string): AssistantMessageEvent {
  return {
    type: "error",
    reason: "error",
    error: message({ stopReason: "error", errorMessage }),
  };
}

/** Timers by hand: `fire` wakes the newest that waits. */
function manual() {
  const timers: { ms: number; wake: () => void }[] = [];
  return {
    timers,
    after(ms: number, wake: () => void) {
      const timer = { ms, wake };
      timers.push(timer);
      return () => {
        const at = timers.indexOf(timer);
        if (at >= 0) timers.splice(at, 1);
      };
    },
  };
}

function run(open: RetryOptions["open"], more: Partial<RetryOptions> = {}) {
  const retries: Retry[] = [];
  const { stream, transient } = streamWithRetry({
    model,
    policy: defaultRetry,
    after: (_ms, wake) => {
      if (_ms < 300_000) queueMicrotask(wake);
      return () => {};
    },
    signal: new AbortController().signal,
    open,
    retrying: (retry) => void retries.push(retry),
    wasted: () => {},
    ...more,
  });
  return { stream, transient, retries };
}

test("[E38] a provider that falls silent is given up, and asked again while nothing was shown", async () => {
  const clock = manual();
  let attempts = 0;
  const { stream, retries } = run(
    () => {
      attempts++;
      return attempts === 1
        ? createAssistantMessageEventStream()
        : played({ type: "done", reason: "stop", message: message() });
    },
    { after: (ms, wake) => clock.after(ms, wake) },
  );
  await Promise.resolve();
  expect(clock.timers.map((it) => it.ms)).toEqual([defaultRetry.idleMs]);
  clock.timers[0]!.wake();
  while (clock.timers[0]?.ms !== defaultRetry.baseMs) await new Promise(setImmediate);
  expect(retries[0]).toMatchObject({ attempt: 1, reason: "The provider sent nothing for 300 s." });
  clock.timers[0].wake();
  expect(await stream.result()).toMatchObject({ stopReason: "stop" });
  expect(clock.timers).toEqual([]);
});

test("[E39] a cancel ends the request also where the provider ignores it", async () => {
  const abort = new AbortController();
  const partial = message({ content: [{ type: "text", text: "so far" }] });
  const { stream } = run(
    () =>
      played(
        { type: "start", partial },
        { type: "text_delta", contentIndex: 0, delta: "so far", partial },
      ),
    { signal: abort.signal },
  );
  for await (const event of stream) if (event.type === "text_delta") abort.abort();
  expect(await stream.result()).toMatchObject({
    stopReason: "aborted",
    content: [{ type: "text", text: "so far" }],
  });
});

test("[E44] attempts are bounded, delays double up to the bound, and a quota that is used up is not a load", async () => {
  const busy = run(() => played(failing("503 overloaded")), {
    policy: { ...defaultRetry, maxAttempts: 9, maxDelayMs: 5_000 },
  });
  expect(await busy.stream.result()).toMatchObject({ stopReason: "error" });
  expect(busy.retries.map((it) => it.delayMs)).toEqual([
    1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000, 5_000,
  ]);
  expect(busy.transient()).toBe(true);
  const broke = run(() => played(failing("429 insufficient_quota: rate limit")));
  expect(await broke.stream.result()).toMatchObject({ stopReason: "error" });
  expect(broke.retries).toEqual([]);
  expect(broke.transient()).toBe(false);
});

test("[E45] an endpoint that cannot be reached is tried again; a throw of the library is a failed attempt", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  await new Promise((resolve) => server.close(resolve));
  const { stream, retries, transient } = run(async ({ fetch }) => {
    await fetch(`http://127.0.0.1:${port}/`);
    return played();
  });
  expect(await stream.result()).toMatchObject({ stopReason: "error" });
  expect(retries).toHaveLength(defaultRetry.maxAttempts - 1);
  expect(transient()).toBe(true);
  const buggy = run(() => {
    throw new TypeError("x is not a function");
  });
  expect(await buggy.stream.result()).toMatchObject({ errorMessage: "x is not a function" });
  expect(buggy.retries).toEqual([]);
});
