// What the agent may ask of its client: permissions, forms, files of its directory, terminals in it. Whatever else it
// asks is answered with an error that says so.

import { type ClientApp, methods, RequestError } from "@agentclientprotocol/sdk";
import { Fault } from "@lichen/wire";
import type { AskRequest, Asks } from "./asks.ts";
import type { AgentFiles } from "./host/files.ts";
import type { Terminals } from "./host/terminals.ts";
import type { RequestNames } from "./request-names.ts";
import type { Turn } from "./turn.ts";

export interface Served {
  readonly asks: Asks;
  readonly files: AgentFiles;
  readonly terminals: Terminals;
  /** Whether this names the session in hand. */
  isOwn(sessionId: string): boolean;
  /** The turn that a request belongs to; one that belongs to none opens one. */
  turn(): Promise<Turn>;
  /** Settles when all that the agent said so far is durable. */
  durable(): Promise<void>;
  readonly names: RequestNames;
}

/** Whether a request of this method is for a person to answer. */
export function asksPerson(method: string | undefined): boolean {
  return (
    method === methods.client.session.requestPermission ||
    method === methods.client.elicitation.create
  );
}

/** Adds what answers the agent's requests. */
export function serving(it: Served): (app: ClientApp) => ClientApp {
  const how = (context: { requestId: unknown; signal: AbortSignal }): AskRequest => ({
    prompt: it.names.of(context.requestId),
    line: () => it.names.shown(context.requestId),
    signal: context.signal,
  });
  /** Of the session's own only. */
  const answered = <T>(params: object, work: () => Promise<T>): Promise<T> =>
    inWords(() => {
      // A form may belong to a request of ours in place of a session.
      const sessionId = "sessionId" in params ? String(params.sessionId) : undefined;
      if (sessionId !== undefined && !it.isOwn(sessionId)) throw foreign(sessionId);
      return work();
    });
  const done = async (work: Promise<void>): Promise<Record<string, never>> => {
    await work;
    return {};
  };
  return (app) =>
    app
      .onRequest(methods.client.session.requestPermission, (context) =>
        answered(context.params, async () =>
          it.asks.permission(await it.turn(), context.params, how(context)),
        ),
      )
      .onRequest(methods.client.elicitation.create, (context) =>
        answered(context.params, async () =>
          it.asks.form(await it.turn(), context.params, how(context)),
        ),
      )
      .onRequest(methods.client.fs.readTextFile, ({ params }) =>
        answered(params, async () => ({
          content: await it.files.read(params.path, params.line, params.limit),
        })),
      )
      .onRequest(methods.client.fs.writeTextFile, ({ params }) =>
        answered(params, async () => {
          await it.durable();
          return done(it.files.write(params.path, params.content));
        }),
      )
      .onRequest(methods.client.terminal.create, ({ params }) =>
        answered(params, async () => {
          await it.durable();
          return { terminalId: await it.terminals.create(params) };
        }),
      )
      .onRequest(methods.client.terminal.output, ({ params }) =>
        answered(params, async () => it.terminals.output(params.terminalId)),
      )
      .onRequest(methods.client.terminal.waitForExit, ({ params }) =>
        answered(params, () => it.terminals.exited(params.terminalId)),
      )
      .onRequest(methods.client.terminal.kill, ({ params }) =>
        answered(params, () => done(it.terminals.kill(params.terminalId))),
      )
      .onRequest(methods.client.terminal.release, ({ params }) =>
        answered(params, () => done(it.terminals.release(params.terminalId))),
      );
}

function foreign(sessionId: string): Fault {
  return new Fault(
    "invalid",
    `sessionId: ${sessionId} is not the session in hand: ask under the name of that one.`,
  );
}

/** A refusal becomes an error of the protocol that an agent can read to its model. */
async function inWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!Fault.is(error)) throw error;
    throw new RequestError(-32_602, error.message, { code: error.code });
  }
}
