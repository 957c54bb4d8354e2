// `lichen capability add`: lets an agent call a server, a service or files.

import { randomUUID } from "node:crypto";
import { type CapabilityInfo, Fault } from "@lichen/wire";
import { requestOf } from "../../capability/asked.ts";
import { withAgent } from "../../capability/named.ts";
import { operationsTold, problemTold, tellIfNotFree, toldIfSlow } from "../../capability/told.ts";
import { type Input, UsageError } from "../../command.ts";
import { inFolder } from "../../folder-word.ts";
import { oneLine } from "../../printable.ts";
import type { Terminal } from "../../terminal.ts";
import { commandName, samePlace } from "../../typed.ts";

export function run(given: Input, terminal: Terminal): Promise<number> {
  const { source, place } = wordsOf(given);
  const request = requestOf(given, source);
  return withAgent(place, terminal, async (agent) => {
    const requestId = `cli-${randomUUID()}`;
    const attaching = agent.capabilities.attach({ ...request, requestId });
    const { info } = await toldIfSlow(attaching, terminal).catch((error: unknown) => {
      throw isAway(request, error) ? orKept(error) : error;
    });
    if (given.flag("json")) terminal.answer(`${JSON.stringify(info)}\n`);
    else tell(info, request.namespace, place, terminal);
    return 0;
  });
}

/** A server may be there later; what lies on this machine is not. */
function isAway({ kind, keep }: ReturnType<typeof requestOf>, error: unknown): error is Fault {
  const isServer = kind === "mcp" || kind === "openapi";
  return isServer && keep !== true && Fault.is(error) && error.code === "unavailable";
}

function orKept(error: Fault): Fault {
  const { code, retryable } = error;
  const said = error.message.replace(/\.$/, "");
  return new Fault(code, `${said}. With --keep it is added all the same, and tried again later.`, {
    cause: error,
    retryable,
  });
}

/** Only skills have a source: of the others the one word is the agent's folder. */
function wordsOf(given: Input): { source: string | undefined; place: Input } {
  const [source, dir] = [given.argument("source"), given.argument("dir")];
  if (given.argument("kind") === "skills") return { source, place: inFolder(given, dir) };
  if (source !== undefined && dir !== undefined)
    throw new UsageError(
      `capability add: only skills have a source: "${oneLine(source, 100)}" belongs to nothing`,
      "capability add",
    );
  return { source: undefined, place: inFolder(given, dir ?? source) };
}

/** `wanted`: the name that was asked for, which may not have been free. */
function tell(
  info: CapabilityInfo,
  wanted: string | undefined,
  place: Input,
  terminal: Terminal,
): void {
  const { namespace, state, operations, auth } = info;
  const name = oneLine(namespace, 64);
  const problem = problemTold(info);
  const isOpen = auth.state === "missing" || auth.state === "expired";
  terminal.say(
    state === "active"
      ? `${name} is added: ${operationsTold(operations)}`
      : `${name} is kept, and lends nothing yet${problem === "" ? "" : `: ${problem}`}`,
  );
  if (state === "active" && problem !== "") terminal.say(problem);
  if (wanted !== undefined) tellIfNotFree(wanted, info, terminal);
  if (auth.type === "oauth" && (isOpen || state !== "active"))
    terminal.say(`sign in with \`${commandName()} capability auth ${name}${samePlace(place)}\``);
  else if (isOpen && auth.secret !== undefined)
    terminal.say(
      `its secret is not there yet: put ${oneLine(auth.secret, 128)}=… into the agent's .secrets/.env (chmod 600), or export it`,
    );
}
