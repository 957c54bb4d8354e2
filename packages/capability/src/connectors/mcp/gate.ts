// What passes between the SDK and a server. Every message of the server goes through here first.
//
//   A request whose stream ended without an answer is answered with an error, so that nothing waits for it.
//   A result that does not say what it is counts as complete, as the newer revision has it.
//   What a request was authorised with does not come back, however it is spelled.
//   A list of tools is bounded before anything reads it: see `clean-tools.ts`.

import type { Redactor } from "../../secrets/redactor.ts";
import { cleanTools } from "./clean-tools.ts";
import type { McpTransport, RpcMessage, SendOptions } from "./sdk.ts";
import { lostCode } from "./trouble.ts";

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
  };

  function read(received: RpcMessage): RpcMessage {
    const message = redactor().json(received);
    if ("method" in message || message.id === undefined) return message;
    const method = asked.get(message.id);
    asked.delete(message.id);
    if (method === undefined || !("result" in message)) return message;
    const result = method === "tools/list" ? cleanTools(message.result) : message.result;
    const isNewer = method === "server/discover" || version >= "2026-07-28";
    return { ...message, result: isNewer ? { resultType: "complete", ...result } : result };
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
