// An MCP connection's config, as its row holds it: where the server is. Names of secrets, never a secret.

import { OperationError } from "../../failure.ts";
import type { Json, JsonObject } from "../../json.ts";
import { hint } from "../nearest.ts";

export type McpConfig = McpHttpConfig | McpProgramConfig;

/** A server at an address, spoken to over streamable HTTP. */
interface McpHttpConfig {
  readonly transport: "http";
  readonly url: string;
}

/** A program that is started and spoken to over its standard input and output. */
export interface McpProgramConfig {
  readonly transport: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, EnvValue>>;
  readonly cwd?: string;
}

/** A plain value, a secret by its name, or the token of the connection's own auth. */
export type EnvValue = string | { readonly secret: string } | { readonly auth: "token" };

const httpKeys = ["transport", "url"];
const programKeys = ["transport", "command", "args", "env", "cwd"];

/** Reads what a row says; throws an `OperationError` `invalid_config` that names the field. */
export function parseMcpConfig(config: JsonObject): McpConfig {
  const transport = config["transport"] ?? (config["url"] === undefined ? "stdio" : "http");
  if (transport !== "http" && transport !== "stdio")
    throw invalid(`transport: must be "http" or "stdio", not ${JSON.stringify(transport)}`);
  if (config["url"] === undefined && config["command"] === undefined)
    throw invalid(
      `say where the server is: "url" for one at an address, "command" for a program that is started`,
    );
  const known = transport === "http" ? httpKeys : programKeys;
  for (const key of Object.keys(config)) {
    if (known.includes(key)) continue;
    const others = httpKeys.includes(key) || programKeys.includes(key);
    throw invalid(
      others
        ? `${key}: does not go with ${transport === "http" ? "an address" : "a program"}: leave it out`
        : `unknown field "${key}".${hint(key, known)}`,
    );
  }
  return transport === "http"
    ? { transport, url: httpUrl(config["url"]) }
    : {
        transport,
        command: text("command", config["command"]),
        args: list(config["args"] ?? []),
        env: environment(config["env"] ?? {}),
        ...(config["cwd"] === undefined ? {} : { cwd: text("cwd", config["cwd"]) }),
      };
}

function httpUrl(value: Json | undefined): string {
  const written = text("url", value);
  if (!URL.canParse(written)) throw invalid("url: is no address such as https://example.com/mcp");
  const url = new URL(written);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw invalid(`url: must begin with https:// or http://, not ${url.protocol}`);
  if (url.username !== "" || url.password !== "")
    throw invalid("url: must hold no password: name a secret in the connection's auth");
  return url.href;
}

function text(field: string, value: Json | undefined): string {
  if (typeof value !== "string" || value === "" || value.includes("\0"))
    throw invalid(`${field}: must be a text`);
  return value;
}

function list(value: Json): string[] {
  if (!Array.isArray(value)) throw invalid("args: must be a list of texts");
  return value.map((one: Json, index) => {
    if (typeof one !== "string" || one.includes("\0"))
      throw invalid(`args.${index}: must be a text`);
    return one;
  });
}

function environment(value: Json): Record<string, EnvValue> {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw invalid("env: must be an object of names with their values");
  return Object.fromEntries(
    Object.entries(value).map(([name, held]) => {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
        throw invalid(`env: ${JSON.stringify(name)} cannot be the name of a variable`);
      return [name, envValue(name, held)];
    }),
  );
}

function envValue(name: string, value: Json): EnvValue {
  if (typeof value === "string" && !value.includes("\0")) return value;
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    const entries = Object.entries(value);
    const [key, held] = entries[0] ?? [];
    if (entries.length === 1 && key === "secret" && typeof held === "string" && held !== "")
      return { secret: held };
    if (entries.length === 1 && key === "auth" && held === "token") return { auth: held };
  }
  throw invalid(
    `env.${name}: must be a text, {"secret": "NAME"} for a secret by its name, or {"auth": "token"} for the token of this connection's auth`,
  );
}

function invalid(problem: string): OperationError {
  return new OperationError("invalid_config", problem);
}
