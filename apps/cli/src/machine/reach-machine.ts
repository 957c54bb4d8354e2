// The machine that runs on this computer, spoken to as its owner: its sessions by name, and its routes.
//
//   UP3  A machine that does not run is told in one sentence with the way to start it.

import { type Connection, connectHost } from "@lichen/server/node";
import {
  type AgentInfo,
  Fault,
  faultStatus,
  type FaultCode,
  MachineHarnesses,
  MachineRefusal,
  type MachineSession,
  MachineSessionList,
} from "@lichen/wire";
import type { Input } from "../command.ts";
import { HostFetch } from "../host-fetch.ts";
import { isOfFolder } from "../place.ts";
import { oneLine } from "../printable.ts";
import { served, type ReachedAgent } from "../reach-agent.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, quoted } from "../typed.ts";
import { machineDirOf } from "./machine-dir.ts";
import { connectPaired, pairedAt } from "./paired.ts";

export type { MachineSession };

/** The id of the one session of each coding agent. */
export const onlySession = "main";

/** Reads an answer; a schema of zod is one. */
interface Shape<T> {
  safeParse(value: unknown): { readonly success: boolean; readonly data?: T };
}

interface Call {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** The way to a machine: this computer's, or one that this computer is paired with. */
interface Way {
  /** Its state; of a machine elsewhere, what stands for it here. */
  readonly stateDir: string;
  /** As it is to be typed again, with a space before it. */
  readonly place: string;
  readonly isElsewhere: boolean;
  readonly reach: () => Promise<Connection>;
}

function wayOf(input: Pick<Input, "value">): Way {
  const on = input.value("on");
  if (on !== undefined) {
    const paired = pairedAt(on);
    return {
      ...{ stateDir: paired.path, place: ` --on ${quoted(on)}`, isElsewhere: true },
      reach: () => connectPaired(paired),
    };
  }
  const stateDir = machineDirOf(input);
  const state = input.value("state");
  const place = state === undefined ? "" : ` --state ${quoted(state)}`;
  return { stateDir, place, isElsewhere: false, reach: () => connectHost(stateDir) };
}

export class ReachedMachine {
  readonly stateDir: string;
  readonly isElsewhere: boolean;
  /** As it is to be typed again, with a space before it. */
  readonly place: string;
  readonly #reach: () => Promise<Connection>;
  readonly #line: HostFetch;
  readonly #terminal: Terminal;
  readonly #agents: ReachedAgent[] = [];

  constructor(way: Way, terminal: Terminal) {
    const { reach } = way;
    this.stateDir = way.stateDir;
    this.isElsewhere = way.isElsewhere;
    this.place = way.place;
    this.#reach = reach;
    this.#terminal = terminal;
    // Not everything that a machine is asked for may be asked for twice.
    const nothing = () => undefined;
    this.#line = new HostFetch({ reach, patienceMs: 0, onBreak: nothing, onReturn: nothing });
  }

  /** Asks one of its routes; a refusal is thrown under its own code. */
  async ask<T>(path: string, shape: Shape<T>, call: Call = {}): Promise<T> {
    const answer = await this.#send(path, call);
    const parsed = shape.safeParse(await answer.json());
    if (parsed.success && parsed.data !== undefined) return parsed.data;
    throw new Fault(
      "unavailable",
      `The machine answers ${path} in words of another version: bring both up to date.`,
      { retryable: false },
    );
  }

  /** The same, where nothing is answered but that it was done. */
  async tell(path: string, call: Call = {}): Promise<void> {
    await this.#send(path, { method: "POST", ...call });
  }

  async sessions(): Promise<MachineSession[]> {
    return (await this.ask("/v1/sessions", MachineSessionList)).sessions;
  }

  async find(name: string): Promise<MachineSession | undefined> {
    return (await this.sessions()).find((it) => it.name === name);
  }

  /** `unknown_session` with the way to find those that are there. */
  async get(name: string): Promise<MachineSession> {
    const found = await this.find(name);
    if (found) return found;
    const ofFolder = (await this.folderAgents()).find((it) => [it.name, it.agent].includes(name));
    if (ofFolder)
      throw new Fault(
        "invalid",
        `${oneLine(name, 100)} is the agent of a folder: this is for the sessions of coding agents. \`${commandName()} up --without ${ofFolder.agent}${this.place}\` ends its being served at the next start.`,
      );
    throw this.unknown(name);
  }

  unknown(name: string): Fault {
    return new Fault(
      "unknown_session",
      `There is no session "${oneLine(name, 100)}" on this machine: \`${commandName()} ps${this.place}\` lists them, ` +
        `\`${commandName()} new <name>${this.place}\` makes one.`,
    );
  }

  /** The agent that a session is, for what all agents are asked alike. Its requests wait for a host that restarts. */
  agentOf({ id }: Pick<MachineSession, "id">, options: { patienceMs?: number } = {}): ReachedAgent {
    const reached = served(
      { agent: id, stateDir: this.stateDir, reach: this.#reach },
      this.#terminal,
      options,
    );
    this.#agents.push(reached);
    return reached;
  }

  /** The agents of folders that it serves beside them. */
  async folderAgents(): Promise<AgentInfo[]> {
    return (await this.agentOf({ id: "none" }).client.agents()).filter(isOfFolder);
  }

  async close(): Promise<void> {
    this.#line.close();
    await Promise.all(this.#agents.map((agent) => agent.close()));
  }

  async #send(path: string, { method = "GET", body, signal }: Call): Promise<Response> {
    const answer = await this.#line.fetch(`${this.#line.url}${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (answer.ok) return answer;
    throw await refusalOf(answer);
  }
}

/** The machine that runs; throws `unavailable` where none does. */
export async function reachMachine(input: Input, terminal: Terminal): Promise<ReachedMachine> {
  const found = await findMachine(input, terminal);
  if (found) return found;
  const state = input.value("state");
  const place = state === undefined ? "" : ` --state ${quoted(state)}`;
  throw new Fault(
    "unavailable",
    `No machine runs on this computer${state === undefined ? "" : ` with its state in ${oneLine(state, 200)}`}. Start it with \`${commandName()} up${place}\`, or for good with \`${commandName()} service install${place}\`.`,
    { retryable: false },
  );
}

/** The machine that runs; undefined where none does, or where what runs on that state is no machine. */
export async function findMachine(
  input: Pick<Input, "value">,
  terminal: Terminal,
): Promise<ReachedMachine | undefined> {
  const way = wayOf(input);
  const connection = await way.reach();
  if (connection.found !== "host") {
    if (way.isElsewhere) throw noneElsewhere(connection, way.place);
    return undefined;
  }
  const machine = new ReachedMachine(way, terminal);
  try {
    await machine.ask("/v1/harnesses", MachineHarnesses);
    return machine;
  } catch (error) {
    await machine.close();
    if (Fault.is(error) && error.code === "unknown_route") return undefined;
    throw error;
  }
}

function noneElsewhere({ found }: Connection, place: string): Fault {
  return new Fault(
    found === "none" ? "unavailable" : "unauthenticated",
    found === "none"
      ? `Nothing answers${place.replace("--on", "at")}: see that the machine runs there and that this computer reaches it.`
      : `What answers${place.replace("--on", "at")} does not prove to know this computer as a device, so it was told nothing. ` +
          `If you sent the device away, or the machine is at another address now, pair again: \`${commandName()} pair\` there, \`${commandName()} pair <address>\` here.`,
    { retryable: false },
  );
}

/** Why a machine refuses, under its own code. */
export async function refusalOf(answer: Response): Promise<Fault> {
  const { data } = MachineRefusal.safeParse(await answer.json().catch(() => undefined));
  const told =
    typeof data?.error === "string" ? { message: data.error, code: data.code } : data?.error;
  const message = told?.message ?? `The machine refuses with status ${answer.status}.`;
  return new Fault(codeOf(told?.code), message, { retryable: data?.retryable ?? false });
}

function codeOf(code: string | undefined): FaultCode {
  const isKnown = (it: string | undefined): it is FaultCode =>
    it !== undefined && Object.hasOwn(faultStatus, it);
  return isKnown(code) ? code : "unavailable";
}
