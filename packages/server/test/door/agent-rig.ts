// A host with one real agent: a real store on disk, the real runtime, and an engine that plays a script.

import { join } from "node:path";
import {
  type Agent,
  type CapabilityOptions,
  type ModelCatalogue,
  type Owner,
  openOwner,
  type OwnerOptions,
} from "@lichen/runtime";
import { nodePlatform, openSql } from "@lichen/runtime/node";
import { type EngineScript, scriptedEngine } from "@lichen/runtime/testing";
import { openRig, type Rig, type RigOptions } from "./rig.ts";

export interface AgentRig extends Rig {
  readonly agent: Agent;
  readonly owner: Owner;
}

export interface AgentRigOptions extends RigOptions {
  readonly script?: EngineScript;
  readonly models?: ModelCatalogue;
  readonly capabilities?: CapabilityOptions;
  readonly meta?: OwnerOptions["meta"];
}

/** The agent is called `a`. */
export async function openAgentRig(options: AgentRigOptions = {}): Promise<AgentRig> {
  const { script, models, capabilities, meta, ...door } = options;
  let owner: Owner | undefined;
  const rig = await openRig({ owner: () => owner, ...door });
  const file = await openSql(join(rig.stateDir, "host.db"));
  const platform = nodePlatform({ report: (error) => void rig.reports.push(error) });
  owner = openOwner({ sql: file.sql, platform, ...(meta === undefined ? {} : { meta }) });
  const agent = await owner.attach({
    agent: "a",
    engine: scriptedEngine(script, models === undefined ? {} : { models }),
    ...(capabilities === undefined ? {} : { capabilities }),
  });
  const opened = owner;
  return {
    ...rig,
    agent,
    owner: opened,
    [Symbol.asyncDispose]: async () => {
      await opened.close({ patienceMs: 0 });
      await file.close();
      await rig[Symbol.asyncDispose]();
    },
  };
}
