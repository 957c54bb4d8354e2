// The scripted provider: a loopback server that answers three streaming wires from one script and remembers what it
// was asked. Real provider libraries talk to it, so they are what a test tests.
//
//   - One step answers one request, in the order of arrival. A request that finds no step is refused and says so.
//   - A conversation that a real provider would refuse is refused here too, and costs no step.
//   - Every wait ends when the caller leaves or the server closes.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Json, JsonObject } from "@lichen/wire";
import { anthropicWire } from "./anthropic-wire.ts";
import { completionsWire } from "./completions-wire.ts";
import { objectionTo } from "./conversation-rules.ts";
import type { Encoding, Wire } from "./encoding.ts";
import { Gates } from "./gate.ts";
import { playAnswer } from "./play-answer.ts";
import { type Ending, ReceivedRequest } from "./received-request.ts";
import { responsesWire } from "./responses-wire.ts";
import { answerOf, type Refusal, ScriptedUsage, type Step } from "./script.ts";

/** Steps in order; or what to answer, decided per request. */
export type Script =
  | readonly Step[]
  | ((request: ReceivedRequest) => Step | undefined | Promise<Step | undefined>);

export interface ScriptedProviderOptions {
  readonly script?: Script;
  /** Answers every request that the script and pushed steps leave. */
  readonly otherwise?: Step | undefined;
  /** 0, the default, picks a free port. */
  readonly port?: number;
  /** `alternating` also refuses two user messages in a row; `none` takes any conversation. */
  readonly rules?: "usual" | "alternating" | "none";
  /** How many of the newest requests `requests` keeps; 1,000 unless given. */
  readonly keeps?: number;
  /** Sees every request before it is answered. */
  readonly onRequest?: (request: ReceivedRequest) => void;
}

export interface ScriptedProvider {
  /** `http://127.0.0.1:<port>`: the base URL of the Anthropic wire; the OpenAI wires add `/v1`. */
  readonly url: string;
  /** What was asked, oldest first. */
  readonly requests: readonly ReceivedRequest[];
  push(...steps: Step[]): void;
  /** Settles with the request of this number (from 1) once it has arrived; rejects when the server closes before. */
  request(number: number): Promise<ReceivedRequest>;
  /** Opens the gate of this name, for good. */
  open(gate: string): void;
  /** Settles once an answer waits, or waited, at the gate of this name. */
  reached(gate: string): Promise<void>;
  close(): Promise<void>;
}

const wires: Readonly<Record<string, { wire: Wire; encoding: Encoding }>> = {
  "/v1/messages": { wire: "anthropic", encoding: anthropicWire },
  "/v1/chat/completions": { wire: "completions", encoding: completionsWire },
  "/v1/responses": { wire: "responses", encoding: responsesWire },
};

export async function startScriptedProvider(
  options: ScriptedProviderOptions = {},
): Promise<ScriptedProvider> {
  const { script = [], keeps = 1_000, rules = "usual" } = options;
  const steps: Step[] = typeof script === "function" ? [] : [...script];
  const requests: ReceivedRequest[] = [];
  const expected = new Map<number, PromiseWithResolvers<ReceivedRequest>>();
  const gates = new Gates();
  let received = 0;
  let calls = 0;
  let isClosing = false;

  async function stepFor(request: ReceivedRequest): Promise<Step> {
    const objection = rules === "none" ? undefined : objectionTo(request, rules === "alternating");
    if (objection !== undefined) return { refuse: "invalid", message: objection };
    const step =
      steps.shift() ?? (typeof script === "function" ? await script(request) : undefined);
    const message = `The script has no step for request ${request.number}.`;
    return step ?? options.otherwise ?? { refuse: "invalid", message };
  }

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (incoming.url ?? "").split("?", 1)[0] ?? "";
    const body = parsed(await readText(incoming));
    if (path.startsWith("/gates/")) {
      const gate = decodeURIComponent(path.slice("/gates/".length));
      if (incoming.method === "POST") gates.open(gate);
      else await Promise.race([gates.reached(gate), once(response, "close")]);
      response.writeHead(204).end();
      return;
    }
    const target = incoming.method === "POST" ? wires[path] : undefined;
    if (!target) {
      response.writeHead(404).end(`No route ${path}.`);
      return;
    }
    const { wire, encoding } = target;
    if (!body) {
      refuse(response, encoding, { refuse: "invalid", message: "The body is not a JSON object." });
      return;
    }
    const ended = Promise.withResolvers<Ending>();
    let isCut = false;
    response.once("close", () => {
      if (response.writableFinished) ended.resolve("answered");
      else ended.resolve(isCut || isClosing ? "cut" : "left");
    });
    const headers = headersOf(incoming);
    const number = ++received;
    const request = new ReceivedRequest({ number, wire, headers, body, ended: ended.promise });
    requests.push(request);
    if (requests.length > keeps) requests.shift();
    options.onRequest?.(request);
    expected.get(number)?.resolve(request);
    const step = await stepFor(request);
    if (typeof step !== "string" && "refuse" in step) {
      refuse(response, encoding, step);
      return;
    }
    const answer = answerOf(step);
    const encoder = encoding.encoder({
      answer: number,
      model: request.model,
      usage: ScriptedUsage.parse(answer.usage ?? {}),
      includeUsage: wire !== "completions" || asksForUsage(body),
    });
    const callId = () => `call_scripted_${++calls}`;
    const cut = () => {
      isCut = true;
      response.destroy();
    };
    await playAnswer(answer, { response, encoder, gates, callId, cut });
  }

  const server = createServer((incoming, response) => {
    // What fails here is a script's own throw: the caller sees a connection that breaks.
    serve(incoming, response).catch(() => response.destroy());
  });
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string")
    throw new Error("The scripted provider has no port.");

  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    push: (...more) => void steps.push(...more),
    request(number) {
      const known = requests.find((request) => request.number === number);
      if (known) return Promise.resolve(known);
      if (number <= received)
        return Promise.reject(new Error(`Request ${number} is no longer kept: raise \`keeps\`.`));
      const pending = expected.get(number) ?? Promise.withResolvers<ReceivedRequest>();
      expected.set(number, pending);
      return pending.promise;
    },
    open: (gate) => gates.open(gate),
    reached: (gate) => gates.reached(gate),
    async close() {
      if (isClosing) return;
      isClosing = true;
      for (const [number, pending] of expected)
        pending.reject(new Error(`The scripted provider closed before request ${number}.`));
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function refuse(response: ServerResponse, encoding: Encoding, step: Refusal): void {
  const { status, body } = encoding.refusal(step.refuse, step.message);
  const retryAfter = step.retryAfterSeconds;
  response.writeHead(step.status ?? status, {
    "content-type": "application/json",
    ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
  });
  response.end(body);
}

/** Chat Completions counts tokens only where the request asks for it. */
function asksForUsage(body: JsonObject): boolean {
  const options = body["stream_options"];
  return options !== null && typeof options === "object" && "include_usage" in options;
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: Json = JSON.parse(text);
    const isObject = value !== null && typeof value === "object" && !Array.isArray(value);
    return isObject ? value : undefined;
  } catch {
    return undefined;
  }
}

function headersOf(incoming: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming.headers))
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value;
  return headers;
}
