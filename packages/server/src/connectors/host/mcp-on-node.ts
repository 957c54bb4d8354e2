// MCP servers from Node: the official SDK, loaded when the first connection is made, and programs as child processes.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { CapabilityFactory } from "@lichen/capability";
import {
  mcpFactory,
  type McpOptions,
  type McpSdk,
  type ServerProgram,
} from "@lichen/capability/connectors";
import type { Sandbox } from "@lichen/engine/node";
import { type ProgramPlace, StdioTransport } from "./stdio-transport.ts";

export interface McpOnNodeOptions extends McpOptions {
  /** Where programs start, and what their paths are read from: the agent's folder. */
  readonly folder: string;
  /** Where programs are looked for, as in PATH. */
  readonly path: string;
  /** HOME of a connection's program; left out, each has an empty one that is gone when it ends. */
  readonly home?: (connectionId: string) => string;
  /** What stands around programs: the host's own places are closed to them. Left out, nothing does. */
  readonly sandbox?: () => Promise<Pick<Sandbox, "wrap">>;
  /** What programs may read and never change there. */
  readonly readOnly?: () => readonly string[];
  /** The same for what has no part in their work: real paths of what is there. */
  readonly guarded?: (cwd: string) => readonly string[];
}

type Places = Pick<
  McpOnNodeOptions,
  "folder" | "path" | "home" | "sandbox" | "readOnly" | "guarded"
>;

/** The `mcp` kind on Node. */
export function mcpOnNode(options: McpOnNodeOptions): CapabilityFactory {
  return mcpFactory(() => mcpSdk(options), options);
}

/**
 * The SDK's constructors, with programs that are started as `options` say.
 *
 * @internal
 */
export async function mcpSdk(options: Places): Promise<McpSdk> {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  return {
    Client,
    HttpTransport: StreamableHTTPClientTransport,
    startServer: (server) => new StdioTransport(server, () => placeOf(server, options)),
  };
}

async function placeOf(
  { connectionId, cwd: from = "." }: ServerProgram,
  { folder, path, home, sandbox, readOnly = () => [], guarded = () => [] }: Places,
): Promise<ProgramPlace> {
  const cwd = resolve(folder, from);
  const wall = await sandbox?.();
  const place = {
    path,
    cwd,
    ...(wall && {
      wrap: (argv: readonly string[]) =>
        wall.wrap(argv, { cwd, readOnly: readOnly(), guarded: guarded(cwd) }),
    }),
  };
  if (home) return { ...place, home: home(connectionId), release: async () => {} };
  const empty = await mkdtemp(join(tmpdir(), "lichen-mcp-"));
  return {
    ...place,
    home: empty,
    // What it holds is nobody's any more, and a rest of it harms nobody.
    release: () => rm(empty, { recursive: true, force: true }).catch(() => {}),
  };
}
