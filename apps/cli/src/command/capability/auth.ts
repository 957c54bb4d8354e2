// `lichen capability auth`: a person signs in to a capability, or is told how its calls are authorised.
//
// It opens the file of sign-ins itself, beside a host that may run: what is stored there counts from the next call on.

import type { AuthConfig } from "@lichen/capability";
import type { Agent } from "@lichen/client";
import {
  connectionAuthOf,
  connectionCredentials,
  locateHost,
  onStopSignal,
  type OpenAuth,
  openAuth,
} from "@lichen/server/node";
import { type CapabilityInfo, Fault } from "@lichen/wire";
import { capabilityCalled } from "../../capability/named.ts";
import { authTold, operationsTold, problemTold } from "../../capability/told.ts";
import type { Input } from "../../command.ts";
import { oneLine } from "../../printable.ts";
import { reachAgent } from "../../reach-agent.ts";
import type { Terminal } from "../../terminal.ts";

const patienceMs = 15 * 60_000;

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const reached = await reachAgent(input, terminal, { atRest: true, declared: true });
  try {
    const info = await capabilityCalled(reached.agent, input, terminal);
    const auth = await authOf(input, reached.stateDir, info);
    try {
      return await settle({ input, terminal, info, auth, agent: reached.agent });
    } finally {
      await auth.close();
    }
  } finally {
    await reached.close();
  }
}

async function authOf(input: Input, stateDir: string, info: CapabilityInfo): Promise<OpenAuth> {
  const dir = input.argument("dir") ?? ".";
  const { agentId, place } = locateHost({ dir, state: stateDir });
  const { state: _, ...auth } = info.auth;
  // The host checked it before it stored it.
  const connection = connectionAuthOf({ ...info, auth: auth as AuthConfig });
  return openAuth({
    path: connectionCredentials(stateDir),
    agentId,
    folder: place.dir,
    env: (name) => process.env[name],
    configOf: (id) => (id === info.id ? connection : undefined),
  });
}

interface Asked {
  readonly input: Input;
  readonly terminal: Terminal;
  readonly info: CapabilityInfo;
  readonly auth: OpenAuth;
  readonly agent: Agent;
}

async function settle(asked: Asked): Promise<number> {
  const { input, info } = asked;
  if (info.auth.type === "oauth") return input.flag("remove") ? remove(asked) : signIn(asked);
  if (input.flag("remove"))
    throw new Fault(
      "invalid",
      `${oneLine(info.namespace, 64)} has no sign-in to forget: its auth is of the type ${oneLine(info.auth.type, 64)}.`,
    );
  return tell(asked);
}

/** How calls are authorised where nobody signs in; 1 where something is missing. */
async function tell({ input, terminal, info, auth, agent }: Asked): Promise<number> {
  const found = await auth.state(info.id);
  const state = found?.state ?? info.auth.state;
  const isThere = state === "ready" || state === "none";
  if (input.flag("json")) terminal.answer(`${JSON.stringify({ ...info.auth, state })}\n`);
  else
    terminal.say(
      state === "none"
        ? `${oneLine(info.namespace, 64)} needs no auth`
        : `${oneLine(info.namespace, 64)}: ${authTold({ auth: { ...info.auth, state } })}${
            isThere ? "" : ": put it into the agent's .secrets/.env (chmod 600), or export it"
          }`,
    );
  if (isThere) await tryAgain(agent, info, terminal);
  return isThere ? 0 : 1;
}

async function remove({ input, terminal, info, auth }: Asked): Promise<number> {
  const { isRevoked } = await auth.signOut(info.id);
  if (input.flag("json")) terminal.answer(`${JSON.stringify({ removed: true, isRevoked })}\n`);
  else
    terminal.say(
      `the sign-in to ${oneLine(info.namespace, 64)} is forgotten${isRevoked ? ", and ended at its server" : ""}`,
    );
  return 0;
}

async function signIn({ input, terminal, info, auth, agent }: Asked): Promise<number> {
  const name = oneLine(info.namespace, 64);
  const isJson = input.flag("json");
  const stop = new AbortController();
  const ignoreSignals = onStopSignal(() => stop.abort(new Error("The sign-in was stopped.")));
  try {
    const granted = await auth.signIn(info.id, {
      open: (url) =>
        isJson
          ? terminal.answer(`${JSON.stringify({ url })}\n`)
          : terminal.say(`open this address to sign in to ${name}:\n${oneLine(url, 8_000)}`),
      waitMs: patienceMs,
      signal: stop.signal,
    });
    if (isJson) terminal.answer(`${JSON.stringify(granted)}\n`);
    else {
      const scopes = granted.scopes ?? [];
      const may = scopes.length === 0 ? "" : ` with ${oneLine(scopes.join(", "), 500)}`;
      const until = granted.isRenewable
        ? "; it renews itself"
        : granted.expiresAt === undefined
          ? ""
          : `, until ${new Date(granted.expiresAt).toISOString()}`;
      terminal.say(`signed in to ${name}${may}${until}`);
    }
    await tryAgain(agent, info, terminal);
    return 0;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    terminal.say("nothing was stored");
    return 130;
  } finally {
    ignoreSignals();
  }
}

/** One that could not be reached before its sign-in lends something from now on. */
async function tryAgain(
  agent: Agent,
  { id, namespace, state }: CapabilityInfo,
  terminal: Terminal,
) {
  if (state !== "requested") return;
  const info = await agent.capabilities.refresh(id);
  const problem = problemTold(info);
  terminal.say(
    info.state === "active"
      ? `${oneLine(namespace, 64)} lends ${operationsTold(info.operations)}`
      : `${oneLine(namespace, 64)} lends nothing yet${problem === "" ? "" : `: ${problem}`}`,
  );
}
