// The connection to one process of an agent: JSON-RPC over its lines.
//
//   - Every line is seen in its order before anything follows from it.
//   - An update goes straight to the driver. Requests are answered through the protocol's own library, those that it
//     does not know with an error.
//   - Whatever waits for an answer rejects when the process is gone.
//   - A request of the agent's is the only one under its id until it is answered.

import {
  type AnyMessage,
  client,
  type ClientApp,
  type ClientConnection,
  methods,
  RequestError,
  type Stream,
} from "@agentclientprotocol/sdk";
import { Json } from "@lichen/wire";
import * as z from "zod";

/** What the driver hears. */
export interface LinkEvents {
  /** `session/update`, by its parameters, with the line that it came on. */
  update(params: unknown, line: Json): void;
  /** A request of the agent or the answer to one of ours, before anything follows from it. */
  message(line: Json, what: { readonly asks?: string; readonly answers?: string }): void;
  /** One of its requests, by its id, is being answered. */
  answering(id: string | number | null): void;
  /** A line that is no message of the protocol. */
  report(error: unknown): void;
}

const Message = z.looseObject({
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
});

export class Link {
  readonly #events: LinkEvents;
  readonly #connection: ClientConnection;
  /** Our requests that are not answered yet, by their ids. */
  readonly #asked = new Map<string | number, string>();
  /** The agent's requests that are not answered yet, by their ids. */
  readonly #open = new Set<string>();
  #incoming: ReadableStreamDefaultController<AnyMessage> | undefined;

  constructor(
    write: (line: Json) => Promise<void>,
    answering: (app: ClientApp) => ClientApp,
    events: LinkEvents,
  ) {
    this.#events = events;
    const stream: Stream = {
      readable: new ReadableStream<AnyMessage>({
        start: (controller) => {
          this.#incoming = controller;
        },
      }),
      writable: new WritableStream<AnyMessage>({
        write: async (message) => {
          if ("method" in message && "id" in message && message.id !== null)
            this.#asked.set(message.id, message.method);
          if (!("method" in message)) {
            this.#open.delete(String(message.id));
            events.answering(message.id);
          }
          try {
            await write(Json.parse(message));
          } catch (error) {
            // No refusal: whoever waits for an answer hears of the process's end.
            throw new Error("the agent listens no more", { cause: error });
          }
        },
      }),
    };
    this.#connection = answering(client({ name: "lichen" })).connect(stream);
  }

  line(value: Json): void {
    const parsed = Message.safeParse(value);
    if (!parsed.success) {
      this.#events.report(new Error("The agent wrote a line that is no message; it was left out."));
      return;
    }
    const { id, method, params } = parsed.data;
    if (method === methods.client.session.update && id === undefined) {
      this.#events.update(params, value);
      return;
    }
    if (method === undefined) {
      const answers = id === undefined || id === null ? undefined : this.#asked.get(id);
      if (answers === undefined) {
        this.#events.report(new Error("The agent answered what it was not asked."));
        return;
      }
      this.#asked.delete(id!);
      this.#events.message(value, { answers });
    } else if (id !== undefined) {
      if (this.#open.has(String(id))) {
        const words = `The agent asked twice under one id, ${String(id)}: the second was left out.`;
        this.#events.report(new Error(words));
        return;
      }
      this.#open.add(String(id));
      this.#events.message(value, { asks: method });
    }
    // The library's own type of a message: what it is was checked above.
    this.#incoming?.enqueue({ jsonrpc: "2.0", ...parsed.data } as AnyMessage);
  }

  /** Asks the agent. Rejects with its error, or with `close`'s. */
  async request(method: string, params: unknown): Promise<unknown> {
    return this.#connection.agent.request<unknown, unknown>(method, params);
  }

  /** Tells the agent; that nobody listens is told by the process's end. */
  notify(method: string, params: unknown): void {
    this.#connection.agent.notify<unknown>(method, params).catch(() => {});
  }

  close(reason: Error): void {
    this.#connection.close(reason);
  }
}

/** The code and the words of an error that the agent answered. */
export function errorOf(error: unknown): { readonly code?: number; readonly message: string } {
  if (error instanceof RequestError) return { code: error.code, message: wordsOf(error) };
  return { message: error instanceof Error ? error.message : String(error) };
}

export const authRequired = -32_000;
export const notFound = -32_002;

/** Libraries put what went wrong into `data` and a formula into `message`. */
function wordsOf({ message, data }: RequestError): string {
  const details =
    typeof data === "object" && data !== null && "details" in data ? data.details : undefined;
  return typeof details === "string" && details !== "" ? `${message}: ${details}` : message;
}
