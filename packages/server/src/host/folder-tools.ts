// The tools of an agent's folder without a host: loaded, walled in and placed as in a run. No store is opened, and a host
// of the same folder that runs is not disturbed.

import type { Tool } from "@lichen/engine";
import type { Diagnostic } from "../folder/definition.ts";
import { openFolderAgent } from "./folder-agent.ts";
import { type HostOptions, locateHost } from "./open-host.ts";
import { hostsDir } from "./state-dir.ts";
import { whileWorking } from "./working-timer.ts";

export interface FolderTools {
  readonly agent: string;
  /** Where the tools work. */
  readonly cwd: string;
  /** All of the agent, deferred ones too, each name once. */
  readonly tools: readonly Tool[];
  readonly diagnostics: readonly Diagnostic[];
  close(): Promise<void>;
}

/** Throws a `Fault` where the folder cannot be used. */
export async function openFolderTools(
  options: Pick<HostOptions, "dir" | "state" | "env">,
): Promise<FolderTools> {
  const { place, agentId, stateDir } = locateHost(options);
  const env = options.env ?? ((name: string) => process.env[name]);
  const made = await openFolderAgent({
    dir: place.dir,
    cwd: place.cwd,
    agentId,
    stateDir,
    protectedPaths: [stateDir, hostsDir()],
    after: whileWorking,
    env,
  });
  try {
    const { definition, diagnostics } = await made.folder.load();
    return {
      agent: agentId,
      cwd: place.cwd,
      tools: definition.tools,
      diagnostics,
      close: () => made.close(),
    };
  } catch (error) {
    await made.close();
    throw error;
  }
}
