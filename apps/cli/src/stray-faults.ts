// Faults that nobody awaits: a rejection that floats, a throw out of a timer. Whose they are, and what becomes of them.
//
//   What an agent's tools leave behind is told with its session, and the process goes on: a rejection that nobody
//   awaited interrupted nothing, and a throw of the agent's own code interrupted only that.
//   A throw out of Lichen's own code ends the process: what it has said is on the disk, and nobody knows the rest.

import { AsyncLocalStorage } from "node:async_hooks";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Engine, EngineSession } from "@lichen/runtime";

export interface StrayFault {
  readonly error: unknown;
  /** Whose run it comes from, where that can be told. */
  readonly session: string | undefined;
  /** Lichen's own code made it, and none of the agent's. */
  readonly isOwn: boolean;
}

export interface StrayListener {
  /** The folders of agents, real paths. */
  readonly dirs: readonly string[];
  /** Told of what the process outlives. */
  readonly left: (fault: StrayFault) => void;
  /** Told of a throw out of Lichen's own code: ends the process. */
  readonly broken: (error: unknown) => void;
}

export class StrayFaults {
  readonly #runs = new AsyncLocalStorage<EngineSession>();

  /** The engine, by whose runs stray faults are known. */
  around(engine: Engine): Engine {
    return {
      name: engine.name,
      can: engine.can,
      ...(engine.check ? { check: (settings) => engine.check!(settings) } : {}),
      ...(engine.models ? { models: () => engine.models!() } : {}),
      open: (session, host) => {
        const connection = engine.open(session, host);
        return {
          run: (work, run) => this.#runs.run(session, () => connection.run(work, run)),
          close: () => connection.close(),
          ...(connection.stays === undefined ? {} : { stays: connection.stays }),
        };
      },
    };
  }

  /** Takes the stray faults of this process until the answer is called. */
  take({ dirs, left, broken }: StrayListener): () => void {
    const agents = dirs.flatMap((dir) => [pathToFileURL(`${dir}/`).href, `${dir}/`]);
    const own = ownPlaces();
    const judge = (error: unknown): StrayFault & { readonly isAgents: boolean } => {
      const frames = framesOf(error);
      const session = this.#runs.getStore()?.session;
      const touchesOwn = frames.some((frame) => isIn(frame, own));
      const isInFolder = frames.some((frame) => isIn(frame, agents) && !isIn(frame, own));
      // No code at all is in the stack of what the system reports, such as a connection that breaks.
      const isAgents = isInFolder || (session !== undefined && !touchesOwn);
      return { error, session, isAgents, isOwn: touchesOwn && !isInFolder };
    };
    const onRejection = (error: unknown) => left(judge(error));
    const onThrow = (error: unknown) => {
      const fault = judge(error);
      if (fault.isAgents) left(fault);
      else broken(error);
    };
    process.on("unhandledRejection", onRejection);
    process.on("uncaughtException", onThrow);
    return () => {
      process.off("unhandledRejection", onRejection);
      process.off("uncaughtException", onThrow);
    };
  }
}

/** Where Lichen's own code lies, as it stands in a stack. */
function ownPlaces(): string[] {
  const command = new URL("../", import.meta.url);
  const packages = new URL("../../", import.meta.resolve("@lichen/runtime"));
  return [command, packages].flatMap((place) => [place.href, fileURLToPath(place.href)]);
}

function framesOf(error: unknown): string[] {
  try {
    if (!(error instanceof Error) || typeof error.stack !== "string") return [];
    return error.stack.split("\n").filter((line) => /^\s+at /.test(line));
  } catch {
    // What is thrown can be anything, and a throw of its own is no reason to end.
    return [];
  }
}

function isIn(frame: string, places: readonly string[]): boolean {
  return places.some((place) => frame.includes(place));
}
