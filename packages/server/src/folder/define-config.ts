// `lichen.config.ts`: what it may say, and a clear word where it says something else.

import type { Tool } from "@lichen/engine";
import { Fault, Grant, Reasoning } from "@lichen/wire";
import * as z from "zod";
import type { ConnectionOptions } from "./define-connection.ts";
import { isTool } from "./define-tool.ts";
import { nearest } from "./nearest.ts";

export const codingToolNames = ["read", "write", "edit", "bash", "grep", "find", "ls"] as const;
type CodingToolName = (typeof codingToolNames)[number];

export interface LichenConfig {
  /** `provider/id`. */
  model?: string | undefined;
  thinkingLevel?: Reasoning | undefined;
  /** All on by default; false or [] for none, a list for exactly those. */
  codingTools?: boolean | CodingToolName[] | undefined;
  tools?: Tool[] | undefined;
  /**
   * Whether AGENTS.md files of the project go into the prompt, those of the working directory and of the folders above
   * it. On by default; false leaves the one of the agent's own folder.
   */
  projectContext?: boolean | undefined;
  http?: { port?: number | undefined; host?: string | undefined } | undefined;
  /** The address that stands in front of this host, as others know it. */
  publicUrl?: string | undefined;
  /**
   * Further names that requests may give as `Host`. With its port a name is also one that the host vouches for: who dials
   * it is told that it leads here. So name only what does, such as `localhost:9000` for a tunnel of your own.
   */
  allowedHosts?: string[] | undefined;
  /** Whether `bash` runs under bubblewrap: where it works (`auto`), always or not at all, or never. */
  sandbox?: "auto" | "require" | "off" | undefined;
  approvals?:
    | {
        /** Tools that ask a person before each call, whatever their author says. */
        confirm?: string[] | undefined;
        /** How long a question waits before it counts as denied. Default: seven days. */
        expireAfterMs?: number | undefined;
      }
    | undefined;
  /** What the agent may call, by name, beside the files of `connections/`. */
  connections?: Record<string, ConnectionOptions> | undefined;
  capabilities?:
    | {
        /** Up to so many operations are tools of their own; more are reached through `execute`. Default 24. */
        directUpTo?: number | undefined;
      }
    | undefined;
  /** Which capability keys the agent's calls are granted, where a session was delivered nothing else. */
  access?:
    | {
        defaults?: Record<string, "none" | "read" | "write"> | undefined;
        /** Keys that are refused without a grant. */
        required?: string[] | undefined;
        /** Every key is. */
        strict?: boolean | undefined;
      }
    | undefined;
}

/** Gives the config its type. */
export function defineConfig(config: LichenConfig): LichenConfig {
  return config;
}

const schema = z.strictObject({
  model: z.string().min(1, "must not be empty").optional(),
  thinkingLevel: Reasoning.optional(),
  codingTools: z
    .union([
      z.boolean(),
      z
        .array(z.enum(codingToolNames))
        .refine((names) => new Set(names).size === names.length, "names a tool twice"),
    ])
    .optional(),
  tools: z
    .array(z.custom<Tool>(isTool, "is not a tool: make it with defineTool"))
    .refine((tools) => tools.every(({ name }) => name !== ""), "a tool here needs a name")
    .optional(),
  projectContext: z.boolean().optional(),
  http: z
    .strictObject({
      port: z.int().min(0).max(65_535).optional(),
      host: z.string().refine(isAddress, "must be an IP address or localhost").optional(),
    })
    .optional(),
  publicUrl: z.url({ protocol: /^https?$/, error: "must be an http or https URL" }).optional(),
  allowedHosts: z.array(z.string().min(1)).optional(),
  sandbox: z.enum(["auto", "require", "off"]).optional(),
  approvals: z
    .strictObject({
      confirm: z.array(z.string()).optional(),
      expireAfterMs: z.int().positive().optional(),
    })
    .optional(),
  // Each is read as a connection later, so that one that is wrong leaves the others in use.
  connections: z.record(z.string(), z.custom<ConnectionOptions>()).optional(),
  capabilities: z.strictObject({ directUpTo: z.int().min(0).max(1_000).optional() }).optional(),
  access: z
    .strictObject({
      defaults: z.record(z.string(), Grant).optional(),
      required: z.array(z.string()).optional(),
      strict: z.boolean().optional(),
    })
    .optional(),
});

/** The config as its file exports it. Throws a `Fault` that names the file, the key, and for an unknown key the nearest known one. */
export function parseConfig(value: unknown, file: string): LichenConfig {
  const result = schema.safeParse(value);
  if (!result.success)
    throw new Fault("invalid", `${file}: ${result.error.issues.map(describe).join("; ")}.`);
  return result.data;
}

function describe(issue: z.core.$ZodIssue): string {
  const place = issue.path.join(".");
  if (issue.code === "unrecognized_keys") {
    const known = keysAt(issue.path);
    return issue.keys
      .map((key) => {
        const meant = nearest(key, known);
        const hint =
          meant === undefined ? `the keys are ${known.join(", ")}` : `did you mean "${meant}"?`;
        return `"${place ? `${place}.` : ""}${key}" is not a key of the config (${hint})`;
      })
      .join("; ");
  }
  if (place === "")
    return "has no config as its default export (write: export default defineConfig({ … }))";
  return `"${place}" ${issue.code === "invalid_type" ? issue.message.replace(/^Invalid input: e/, "e") : issue.message}`;
}

function keysAt(path: PropertyKey[]): string[] {
  if (path[0] === "http") return ["port", "host"];
  if (path[0] === "approvals") return ["confirm", "expireAfterMs"];
  if (path[0] === "capabilities") return ["directUpTo"];
  if (path[0] === "access") return ["defaults", "required", "strict"];
  return Object.keys(schema.shape);
}

function isAddress(host: string): boolean {
  if (host === "localhost" || /^(\d{1,3}\.){3}\d{1,3}$/.test(host)) return true;
  return host.includes(":") && URL.canParse(`http://[${host}]/`);
}
