// What there is of a kind just now: the sessions and approvals of a host that runs, the tools of a folder by their files,
// the models by name. What it takes is imported only for the kind that is asked for.

import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Offers } from "../command.ts";
import type { Offer, Wanted } from "./wanted.ts";

export type LiveKind = Exclude<Offers, readonly string[] | "folder" | "file">;
type Line = Pick<Wanted, "typed" | "options">;
type Take = (found: readonly Offer[]) => void;

const most = 100;

/** Hands over what it finds as it finds it. Rejects where there is nothing to be found. */
export async function findLive(kind: LiveKind, line: Line, take: Take): Promise<void> {
  switch (kind) {
    case "session":
      return findSessions(line, take);
    case "machine-session":
      return findMachineSessions(line, take);
    case "any-session":
      await Promise.allSettled([findSessions(line, take), findMachineSessions(line, take)]);
      return;
    case "approval":
      await Promise.allSettled([findApprovals(line, take), findMachineApprovals(line, take)]);
      return;
    case "tool":
      return findTools(line, take);
    case "capability":
      return findCapabilities(line, take);
    case "model":
      return findModels(take);
  }
}

async function findSessions(line: Line, take: Take): Promise<void> {
  const agent = await runningAgent(line);
  const { sessions } = await agent.sessions({ limit: most });
  take(
    sessions.map(({ session, title, preview, state }) => ({
      word: session,
      summary: title ?? preview ?? state,
    })),
  );
}

async function machineOf(options: Line["options"]) {
  const [{ findMachine }, { processTerminal }] = await Promise.all([
    import("../machine/reach-machine.ts"),
    import("../terminal.ts"),
  ]);
  return findMachine({ value: (name) => options.get(name) }, processTerminal());
}

async function findMachineSessions({ options }: Line, take: Take): Promise<void> {
  const machine = await machineOf(options);
  const sessions = (await machine?.sessions()) ?? [];
  const { folderTalks } = await import("../machine/folder-talks.ts");
  const talks = machine ? await folderTalks(machine) : [];
  take(
    [...sessions, ...talks].map(({ name, harness, state, dir }) => ({
      word: name,
      summary: `${harness}, ${state}, in ${dir}`,
    })),
  );
}

async function findCapabilities(line: Line, take: Take): Promise<void> {
  const agent = await runningAgent(line);
  const { capabilities } = await agent.capabilities.list();
  take(
    capabilities.map(({ namespace, kind, state }) => ({
      word: namespace,
      summary: `${kind}, ${state}`,
    })),
  );
}

async function findApprovals(line: Line, take: Take): Promise<void> {
  const [agent, { allWaiting }, { describeApproval }] = await Promise.all([
    runningAgent(line),
    import("../waiting.ts"),
    import("../decide.ts"),
  ]);
  const waiting = await allWaiting(agent);
  take(
    waiting.map(({ approval }) => ({
      word: approval.approvalId,
      summary: describeApproval(approval),
    })),
  );
}

async function findMachineApprovals({ options }: Line, take: Take): Promise<void> {
  const [{ machineWaiting }, { describeApproval }] = await Promise.all([
    import("../machine/machine-waiting.ts"),
    import("../decide.ts"),
  ]);
  const machine = await machineOf(options);
  const waiting = machine ? await machineWaiting(machine, options.get("session")) : [];
  take(
    waiting.map(({ approval }) => ({
      word: approval.approvalId,
      summary: describeApproval(approval),
    })),
  );
}

/** The agent that the line means, in the host that serves it now. */
async function runningAgent(line: Line) {
  const [{ connectHost }, { createClient }] = await Promise.all([
    import("@lichen/server/node"),
    import("@lichen/client"),
  ]);
  const { agent, stateDir } = await meantBy(line);
  const connection = await connectHost(stateDir);
  if (connection.found !== "host") throw new Error("No host runs.");
  return createClient(connection).agent(agent);
}

/** The agent of the folder; away from every folder, that of the one host that runs. A folder gets no id for this. */
async function meantBy({ typed, options }: Line): Promise<{ agent: string; stateDir: string }> {
  const [{ findAgent }, { loadEnvironment }, { locateAgent }] = await Promise.all([
    import("@lichen/server/node"),
    import("../environment.ts"),
    import("../machine/kept-folders.ts"),
  ]);
  const dir = folderOf(typed);
  let agentDir: string;
  try {
    agentDir = findAgent(dir ?? ".", process.env["LICHEN_AGENT"]).dir;
  } catch (error) {
    if (dir !== undefined) throw error;
    return onlyOne(options);
  }
  if (!existsSync(join(agentDir, ".lichen", "agent.json"))) throw new Error("It never ran.");
  await loadEnvironment(agentDir);
  const { agentId, stateDir } = locateAgent(agentDir, options.get("state") || undefined);
  return { agent: agentId, stateDir };
}

async function onlyOne(options: Line["options"]) {
  const { onlyHost } = await import("../place.ts");
  const found = await onlyHost({
    argument: () => undefined,
    value: (name) => options.get(name),
    values: () => [],
    flag: () => false,
    rest: [],
  });
  if (found === undefined) throw new Error("No host runs.");
  return found;
}

/** Those that have a file: to know the others, the folder's code would have to run. */
async function findTools({ typed }: Line, take: Take): Promise<void> {
  const { findAgent } = await import("@lichen/server/node");
  const { dir } = findAgent(folderOf(typed) ?? ".", process.env["LICHEN_AGENT"]);
  const files = readdirSync(join(dir, "tools")).filter(
    (name) => /^[\w-]+\.(ts|js|mjs)$/.test(name) && !name.endsWith(".d.ts"),
  );
  take(files.map((file) => ({ word: file.replace(/\.\w+$/, ""), summary: `tools/${file}` })));
}

async function findModels(take: Take): Promise<void> {
  const [{ createModels }, { readModels }] = await Promise.all([
    import("@lichen/engine"),
    import("../own-models.ts"),
  ]);
  take([{ word: "demo", summary: "the built-in one, no language model" }]);
  const modelsJson = await readModels(process.cwd());
  const models = createModels({
    env: (name) => process.env[name],
    ...(modelsJson === undefined ? {} : { modelsJson }),
  });
  take((await models.listModels()).map(({ spec, name }) => ({ word: spec, summary: name })));
}

/** The last argument that is a folder. */
function folderOf(typed: readonly string[]): string | undefined {
  return typed.findLast((word) => statSync(word, { throwIfNoEntry: false })?.isDirectory());
}
