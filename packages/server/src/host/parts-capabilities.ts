// What an agent of parts, without a folder, may call: its connections, made live as those of a folder are.

import { dirname, join } from "node:path";
import type { After, Tool } from "@lichen/engine";
import { openSandbox, type Sandbox } from "@lichen/engine/node";
import type { Capabilities, CapabilityOptions } from "@lichen/runtime";
import { Fault } from "@lichen/wire";
import { connectionCredentials, nodeCapabilities } from "../capabilities/host/node-capabilities.ts";
import { Offer, type Offered } from "../capabilities/host/offer.ts";
import { connectionSet } from "../folder/connection-set.ts";
import type { ConnectionOptions } from "../folder/define-connection.ts";
import type { Diagnostic } from "../folder/definition.ts";
import { guardedPlaces, ownHome } from "./guarded-places.ts";
import { hostsDir, programHomesDir } from "./state-dir.ts";

interface Parts {
  readonly connections?: Record<string, ConnectionOptions>;
  readonly capabilities?: { directUpTo?: number };
}

interface Place {
  readonly name: string;
  /** Of the store; `:memory:` where there is no file. */
  readonly path: string;
  readonly cwd: string;
  readonly env: (name: string) => string | undefined;
  readonly after: After;
}

export interface PartsCapabilities {
  readonly options: CapabilityOptions;
  adopt(capabilities: Capabilities, report: (error: unknown) => void): void;
  offered(tools: readonly Tool[]): Promise<Offered | undefined>;
  close(): Promise<void>;
}

/** Throws a `Fault` where a connection is none. */
export function partsCapabilities(parts: Parts, place: Place): PartsCapabilities {
  const { name, path, cwd, env, after } = place;
  const { connections, diagnostics } = connectionSet(
    { connections: parts.connections },
    "connections",
    [],
  );
  refuseWrong(diagnostics);
  const id = encodeURIComponent(name);
  const isKept = path !== ":memory:";
  const stateDir = isKept ? dirname(path) : join(hostsDir(), `embedded-${id}`);
  const states = isKept ? [stateDir] : [];
  let wall: Promise<Sandbox> | undefined;
  const capabilities = nodeCapabilities({
    folder: cwd,
    agentId: name,
    credentials: connectionCredentials(stateDir),
    homes: join(programHomesDir(), `embedded-${id}`),
    env,
    protectedPaths: [...states, hostsDir(), join(cwd, ".secrets")],
    sandbox: () =>
      (wall ??= openSandbox({
        ...{ mode: "auto", mask: states, hide: [hostsDir(), join(cwd, ".secrets")], cwd },
      })),
    readOnly: () => [],
    guarded: (from) => guardedPlaces(ownHome(), from),
  });
  const offer = new Offer(capabilities, after);
  return {
    options: capabilities.options,
    adopt(adopted, report) {
      capabilities.adopt(adopted);
      offer.declare(connections).catch(report);
    },
    offered: (tools) =>
      offer.of({ connections, tools, directUpTo: parts.capabilities?.directUpTo }),
    close: () => offer.close(),
  };
}

export function refuseWrong(diagnostics: readonly Diagnostic[]): void {
  const wrong = diagnostics.find(({ severity }) => severity === "error");
  if (wrong) throw new Fault("invalid", `${wrong.file}: ${wrong.problem}; ${wrong.fix}.`);
}
