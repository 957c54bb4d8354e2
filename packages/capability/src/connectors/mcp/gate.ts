// What passes between the SDK and a server. Every message of the server goes through here first.
//
//   A request whose stream ended without an answer is answered with an error, so that nothing waits for it.
//   What answers a request and is no answer ends it with an error, for the same reason: the SDK lets it lie.
//   A result that does not say what it is counts as complete, as the newer revision has it.
//   What a request was authorised with does not come back, however it is spelled.
//   A list of tools is bounded before anything reads it: see `clean-tools.ts`.

import type { Redactor } from "../../secrets/redactor.ts";
import { cleanTools } from "./clean-tools.ts";
import type { McpTransport, RpcMessage, SendOptions } from "./sdk.ts";
import { isObject } from "../read-json.ts";
import { lostCode, malformedCode } from "./trouble.ts";

/** `inner`, guarded. What a program serves is recognised by the SDK by `stderr` and `pid`, which stand here for it. */
export function gated(
  inner: McpTransport,
  kind: "http" | "stdio",
  redactor: () => Redactor,
): McpTransport {
  const asked = new Map<string | number, string>();
  let version = "";

  const gate: McpTransport = {
    async start() {
      inner.onclose = () => {
        asked.clear();
        gate.onclose?.();
      };
      inner.onerror = (error) => gate.onerror?.(error);
      inner.onmessage = (message) => gate.onmessage?.(read(message));
      await inner.start();
    },
    async send(message, options) {
      if (!("method" in message && "id" in message)) return inner.send(message, options);
      const { id, method } = message;
      asked.set(id, method);
      try {
        await inner.send(message, { ...options, onRequestStreamEnd: () => lost(id, options) });
      } catch (error) {
        asked.delete(id);
        throw error;
      }
    },
    close: () => inner.close(),
    get sessionId() {
      return inner.sessionId;
    },
    setProtocolVersion(chosen) {
      version = chosen;
      inner.setProtocolVersion?.(chosen);
    },
    setSupportedProtocolVersions: (versions) => inner.setSupportedProtocolVersions?.(versions),
    ...(inner.hasPerRequestStream === undefined
      ? {}
      : { hasPerRequestStream: inner.hasPerRequestStream }),
    async terminateSession() {
      await inner.terminateSession?.();
    },
    ending: () => inner.ending?.(),
    noise: () => inner.noise?.(),
  };

  function read(received: RpcMessage): RpcMessage {
    const given = redactor().json(received);
    if ("method" in given) return given;
    const id = askedFor(given);
    const method = id === undefined ? undefined : asked.get(id);
    if (id === undefined || method === undefined) return given;
    asked.delete(id);
    const message = answerOf(id, given);
    if (!("result" in message)) return message;
    const result = method === "tools/list" ? cleanTools(message.result) : message.result;
    const isNewer = method === "server/discover" || version >= "2026-07-28";
    return { ...message, result: isNewer ? { resultType: "complete", ...result } : result };
  }

  /** Which request it answers: a server that could not read one says `null`, and means the only one that is open. */
  function askedFor(message: object): string | number | undefined {
    const id: unknown = "id" in message ? message.id : undefined;
    if (typeof id === "string" || typeof id === "number") return asked.has(id) ? id : Number(id);
    return id === null && "error" in message && asked.size === 1 ? [...asked.keys()][0] : undefined;
  }

  function lost(id: string | number, options: SendOptions | undefined): void {
    const wasOpen = asked.delete(id);
    // Who asked for the end of the stream itself, as a subscription does, is told by that alone.
    if (options?.onRequestStreamEnd) options.onRequestStreamEnd();
    else if (wasOpen)
      gate.onmessage?.({
        jsonrpc: "2.0",
        id,
        error: { code: lostCode, message: "the server ended the answer before it was complete" },
      });
  }

  return kind === "stdio" ? Object.assign(gate, { stderr: null, pid: null }) : gate;
}

/** The answer to a request in the one shape that the SDK takes, or what is wrong with it as one. */
function answerOf(
  id: string | number,
  message: object,
): Extract<RpcMessage, { result: unknown } | { error: unknown }> {
  const { jsonrpc, result, error }: { jsonrpc?: unknown; result?: unknown; error?: unknown } =
    message;
  if (jsonrpc === "2.0" && isObject(result) && error === undefined)
    return { jsonrpc, id, result: { ...result } };
  if (jsonrpc === "2.0" && isObject(error) && result === undefined) {
    const { code, message: words, data } = error;
    if (typeof code === "number" && Number.isSafeInteger(code) && typeof words === "string")
      return {
        jsonrpc,
        id,
        error: { code, message: words, ...(data === undefined ? {} : { data }) },
      };
  }
  return {
    jsonrpc: "2.0",
    id,
    error: { code: malformedCode, message: flaw(jsonrpc, result, error) },
  };
}

function flaw(jsonrpc: unknown, result: unknown, error: unknown): string {
  if (jsonrpc !== "2.0") return "it does not say that it is JSON-RPC 2.0";
  if (result === undefined && error === undefined) return "it holds neither a result nor an error";
  if (result !== undefined && error !== undefined) return "it holds a result and an error";
  return error === undefined
    ? "its result is no object"
    : "its error is no object with a number as code and a text as message";
}
