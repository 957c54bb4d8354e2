// What a program is started with. Its auth goes into its environment, once, when it starts: the one exception from
// asking at each call, since a program cannot be told anything later. Started again, it is asked for again.

import type { AuthResolver } from "../../auth/resolver.ts";
import { OperationError } from "../../failure.ts";
import type { EnvValue, McpProgramConfig } from "./config.ts";
import type { ServerProgram } from "./sdk.ts";

/** Answers a secret by its name; undefined where there is none. */
export type SecretSource = (name: string) => Promise<string | undefined> | string | undefined;

export async function programOf(
  config: McpProgramConfig,
  connectionId: string,
  resolver: AuthResolver,
  secret: SecretSource | undefined,
  limitBytes: number,
  signal: AbortSignal,
): Promise<ServerProgram> {
  const { command, args, cwd } = config;
  const env: [string, string][] = [];
  const secrets: string[] = [];
  for (const [name, value] of Object.entries(config.env)) {
    const held = typeof value === "string" ? value : await askedFor(value);
    env.push([name, held]);
    if (typeof value !== "string") secrets.push(held);
  }
  return {
    connectionId,
    command,
    args,
    env: Object.fromEntries(env),
    secrets,
    limitBytes,
    ...(cwd === undefined ? {} : { cwd }),
  };

  async function askedFor(value: Exclude<EnvValue, string>): Promise<string> {
    if ("secret" in value) {
      const held = await secret?.(value.secret);
      if (held !== undefined && held !== "") return held;
      const fix = "put it into .secrets/.env of the agent, or into the environment of its host";
      throw new OperationError(
        "auth_not_configured",
        `The secret ${value.secret} is not set: ${fix}.`,
      );
    }
    const result = await resolver.resolve({ id: connectionId }, signal);
    if (!result.ok) throw new OperationError(result.error.code, result.error.message);
    const { auth } = result;
    if (auth.kind === "oauth") return auth.token;
    const [header] = auth.kind === "header" ? Object.values(auth.headers) : [];
    if (header !== undefined) return header.replace(/^Bearer /i, "");
    throw new OperationError(
      "auth_not_configured",
      "Its environment wants the token of this connection's auth, which has none: set the auth, or leave that variable out.",
    );
  }
}
