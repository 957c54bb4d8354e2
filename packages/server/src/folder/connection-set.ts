// Which connections an agent has: those of `connections/`, then the config's. The first of a name wins and the others
// are reported; one that is wrong is reported and the rest work.

import type { LichenConfig } from "./define-config.ts";
import { type ConnectionOptions, parseConnection } from "./define-connection.ts";
import type { Diagnostic } from "./definition.ts";

/** A value that stands where a connection is expected. */
export interface FoundConnection {
  /** From the agent's directory. */
  readonly file: string;
  readonly name: string;
  readonly value: unknown;
}

export interface NamedConnection {
  readonly name: string;
  readonly file: string;
  readonly connection: ConnectionOptions;
}

const connectionName = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

export function connectionSet(
  config: LichenConfig,
  configFile: string,
  found: readonly FoundConnection[],
): { connections: NamedConnection[]; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  const connections = new Map<string, NamedConnection>();
  const inConfig = Object.entries(config.connections ?? {});
  for (const { file, name, value } of [
    ...found,
    ...inConfig.map(([name, value]) => ({ file: configFile, name, value })),
  ]) {
    const report = (severity: Diagnostic["severity"], problem: string, fix: string) =>
      diagnostics.push({ severity, file, problem, fix });
    const first = connections.get(name);
    if (first) {
      report(
        "warning",
        `the connection "${name}" is not used: ${first.file} has one of this name, which comes first`,
        "rename one of the two",
      );
      continue;
    }
    if (!connectionName.test(name)) {
      report(
        "error",
        `"${name}" cannot be a connection's name`,
        "use letters, digits, _ and -, at most 64, a letter first",
      );
      continue;
    }
    const parsed = parseConnection(value);
    if ("problem" in parsed)
      report(
        "error",
        `the connection "${name}"${parsed.problem.startsWith('"') ? ":" : ""} ${parsed.problem}`,
        "correct it: it is read again before the next turn",
      );
    else connections.set(name, { name, file, connection: parsed.connection });
  }
  return { connections: [...connections.values()], diagnostics };
}
