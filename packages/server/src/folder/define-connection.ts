// `defineConnection`: what an agent may call, as its author writes it. Names of secrets stand here, never a secret.

import type { AuthConfig } from "@lichen/capability";
import { Json, type JsonObject } from "@lichen/wire";
import * as z from "zod";
import { nearest } from "./nearest.ts";

interface Common {
  /** What code calls it; made of the file's name where it is left out. */
  namespace?: string | undefined;
  /** One line for the model: what it lends. */
  description?: string | undefined;
  auth?: AuthConfig | undefined;
  /** By operation. What is not named here is as its connector says, which for a remote server is `write`. */
  labels?: Record<string, "read" | "write" | "confirm"> | undefined;
  /** The key that grants name; the connection's name where it is left out. */
  grant?: string | undefined;
}

/** An MCP server: at an address, or a program that is started. */
interface McpServer {
  kind: "mcp";
  url?: string | undefined;
  command?: string | undefined;
  args?: string[] | undefined;
  /** What the program gets beside PATH and HOME; `{ secret }` is a secret by its name, `{ auth }` what its auth gives. */
  env?: Record<string, string | { secret: string } | { auth: "token" }> | undefined;
  /** From the agent's folder. */
  cwd?: string | undefined;
}

interface OpenApiService {
  kind: "openapi";
  /** An address, a path from the agent's folder, or the document itself. */
  spec: string | JsonObject;
  /** Where the service is, if not where its document says or comes from; needed for an auth where `spec` is no address. */
  baseUrl?: string | undefined;
  /** GET, HEAD and OPTIONS count as reads: say so only of a service that keeps them harmless. */
  safeMethods?: "read" | undefined;
  /** For one call, in ms: 60,000, at most 600,000. */
  timeoutMs?: number | undefined;
}

interface Files {
  kind: "files";
  /** From the agent's folder. */
  root: string;
  /** Default `read`. */
  mode?: "read" | "write" | undefined;
}

interface Skills {
  kind: "skills";
  /** A folder of skills, from the agent's folder. */
  dir: string;
}

interface Ui {
  kind: "ui";
}

export type ConnectionOptions = Common & (McpServer | OpenApiService | Files | Skills | Ui);

/** Gives a connection its type. */
export function defineConnection(connection: ConnectionOptions): ConnectionOptions {
  return connection;
}

const words = z.string().min(1, "must not be empty");
const issuer = z.url({ protocol: /^https?$/, error: "must be an http or https URL" });
const secretName = z
  .string()
  .regex(
    /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
    "must be the name of a variable, not a secret itself: put the secret into .secrets/.env",
  );

const Auth = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("none") }),
  z.strictObject({
    type: z.literal("header"),
    header: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,100}$/, "is no name of a header")
      .exactOptional(),
    format: z
      .string()
      .refine(
        (format) => format.split("{}").length === 2,
        "must hold {} once, where the secret goes",
      )
      .exactOptional(),
    secret: secretName,
  }),
  z.strictObject({
    type: z.literal("oauth"),
    issuer: issuer.exactOptional(),
    scopes: z.array(words).exactOptional(),
    clientId: words.exactOptional(),
    clientSecret: secretName.exactOptional(),
  }),
  z.strictObject({
    type: z.literal("client_credentials"),
    issuer,
    scopes: z.array(words).exactOptional(),
    clientId: words,
    clientSecret: secretName,
  }),
]);

const common = {
  namespace: words.optional(),
  description: z.string().max(500, "has more than 500 characters").optional(),
  auth: Auth.optional(),
  labels: z.record(z.string(), z.enum(["read", "write", "confirm"])).optional(),
  grant: words.optional(),
};

const kinds = {
  mcp: z
    .strictObject({
      kind: z.literal("mcp"),
      ...common,
      url: z.url({ protocol: /^https?$/, error: "must be an http or https URL" }).optional(),
      command: words.optional(),
      args: z.array(z.string()).optional(),
      env: z
        .record(
          z.string(),
          z.union([
            z.string(),
            z.strictObject({ secret: secretName }),
            z.strictObject({ auth: z.literal("token") }),
          ]),
        )
        .optional(),
      cwd: words.optional(),
    })
    .refine(
      ({ url, command }) => (url === undefined) !== (command === undefined),
      "needs a url or a command, and not both",
    )
    .refine(
      ({ url, args, env, cwd }) => url === undefined || !(args ?? env ?? cwd),
      "args, env and cwd belong to a command",
    ),
  openapi: z
    .strictObject({
      kind: z.literal("openapi"),
      ...common,
      spec: z.union([words, z.record(z.string(), Json)]),
      baseUrl: z.url({ protocol: /^https?$/, error: "must be an http or https URL" }).optional(),
      safeMethods: z.literal("read").optional(),
      timeoutMs: z.int().min(1).max(600_000).optional(),
    })
    .refine(
      ({ spec, baseUrl, auth }) =>
        (auth?.type ?? "none") === "none" ||
        baseUrl !== undefined ||
        (typeof spec === "string" && /^https?:/i.test(spec)),
      "needs a baseUrl: a document that is no address does not say where a credential may go",
    ),
  files: z.strictObject({
    kind: z.literal("files"),
    ...common,
    root: words,
    mode: z.enum(["read", "write"]).optional(),
  }),
  skills: z.strictObject({ kind: z.literal("skills"), ...common, dir: words }),
  ui: z.strictObject({ kind: z.literal("ui"), ...common }),
} as const;

const kindNames = Object.keys(kinds);

/** The connection, or what is wrong with it, to be said after its place. */
export function parseConnection(
  value: unknown,
): { readonly connection: ConnectionOptions } | { readonly problem: string } {
  if (typeof value !== "object" || value === null)
    return { problem: "is no connection (write: defineConnection({ kind: …, … }))" };
  const kind = "kind" in value ? value.kind : undefined;
  if (typeof kind !== "string" || !isKind(kind)) {
    const meant = typeof kind === "string" ? nearest(kind, kindNames) : undefined;
    return {
      problem: `has ${kind === undefined ? "no kind" : "a kind that is not known"} (${
        meant === undefined ? `the kinds are ${kindNames.join(", ")}` : `did you mean "${meant}"?`
      })`,
    };
  }
  const parsed = kinds[kind].safeParse(value);
  if (parsed.success) return { connection: parsed.data };
  return { problem: parsed.error.issues.map((issue) => describe(issue, kind)).join("; ") };
}

function isKind(kind: string): kind is keyof typeof kinds {
  return Object.hasOwn(kinds, kind);
}

function describe(issue: z.core.$ZodIssue, kind: keyof typeof kinds): string {
  const place = issue.path.join(".");
  if (issue.code === "unrecognized_keys") {
    const known = place === "" ? Object.keys(kinds[kind].shape) : [];
    return issue.keys
      .map((key) => {
        const meant = nearest(key, known);
        const hint =
          meant !== undefined
            ? ` (did you mean "${meant}"?)`
            : known.length > 0
              ? ` (the keys are ${known.join(", ")})`
              : "";
        return `"${place === "" ? "" : `${place}.`}${key}" is not a key of a connection of kind ${kind}${hint}`;
      })
      .join("; ");
  }
  return place === "" ? issue.message : `"${place}" ${issue.message}`;
}
