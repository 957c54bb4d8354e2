// What is said of an agent of a folder when its host starts: which model answers, and what stands between its tools and
// the owner's secrets.

import type { ModelChoice } from "@lichen/engine";
import type { Host } from "@lichen/server/node";
import { describeError } from "./fault-text.ts";

type Told = Pick<Host, "sandbox" | "sandboxOfPrograms" | "load" | "agent">;

export function describeModel(choice: ModelChoice): string {
  if (choice.state === "missing") return `${choice.spec}, which has no key yet`;
  if (!choice.isDemo) return `${choice.spec}. ${choice.why}`;
  return (
    "demo, which is no language model: a few built-in rules that can call the agent's tools. For a real one " +
    "set ANTHROPIC_API_KEY, OPENAI_API_KEY or another provider's key (in the environment or in .secrets/.env) " +
    "and start again; `lichen models` lists what there is."
  );
}

export async function describeSandbox(host: Told): Promise<string> {
  const sandbox = host.sandbox();
  if (sandbox === undefined) return describeSandboxOfPrograms(host);
  if (sandbox.kind === "bubblewrap")
    return "bubblewrap hides the state and the credentials from the agent's commands";
  return `none. ${sandbox.reason ?? ""} The agent's file tools refuse the state and the credentials, but its \`bash\` runs as you: a hindrance, not a wall.`;
}

/** The agent has no coding tools; programs that its connections run may still need a wall. */
async function describeSandboxOfPrograms(host: Told): Promise<string> {
  if (!(await runsPrograms(host)))
    return "not needed, the agent has no coding tools and runs no programs";
  try {
    const { kind, reason = "" } = await host.sandboxOfPrograms();
    return kind === "bubblewrap"
      ? "bubblewrap hides the state and the credentials from the programs of the agent's connections"
      : `none. ${reason} The programs of the agent's connections run as you: a hindrance, not a wall.`;
  } catch (error) {
    return `required, and not to be had: ${describeError(error)}`;
  }
}

async function runsPrograms(host: Told): Promise<boolean> {
  const { definition } = await host.load();
  const declared = definition.connections.map(({ connection }) => connection);
  const { capabilities } = await host.agent.capabilities.list();
  return [...declared, ...capabilities.map(({ config }) => config)].some(
    (config) => "command" in config,
  );
}
