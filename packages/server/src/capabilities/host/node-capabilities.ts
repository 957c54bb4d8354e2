// What an agent's capabilities stand on, on a Node host: the kinds there are, where credentials come from, and the
// sandbox in which programs run. Nothing of it is loaded or opened before something needs it.

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { AuthConfig, CapabilityFactory, ConnectorRow } from "@lichen/capability";
import type { Sandbox } from "@lichen/engine/node";
import type { Capabilities, CapabilityOptions } from "@lichen/runtime";
import type { OpenAuth } from "../../auth/host/index.ts";
import type { ConnectionAuth } from "../../auth/connection-auth.ts";
import { readSpecFile } from "./spec-file.ts";

export interface NodeCapabilitiesOptions {
  /** What a connection's paths are read from: the agent's folder. */
  readonly folder: string;
  readonly agentId: string;
  /** Of `credentials.db`. */
  readonly credentials: string;
  /** Where each program of a connection has its HOME. */
  readonly homes: string;
  /** A variable of the environment. */
  readonly env: (name: string) => string | undefined;
  /** Places of the host that no connector reads. */
  readonly protectedPaths: readonly string[];
  /** What stands around the programs of connections. */
  readonly sandbox: () => Promise<Sandbox>;
  /** What they may read and never change. */
  readonly readOnly: () => readonly string[];
  /** The same for what has no part in the work of who works in `cwd`: real paths of what is there. */
  readonly guarded: (cwd: string) => readonly string[];
}

export interface NodeCapabilities {
  readonly options: CapabilityOptions;
  /** The agent's own, once they are there: they say how each authenticates. */
  adopt(capabilities: Capabilities): void;
  /** Settles with the agent's own. */
  readonly adopted: Promise<Capabilities>;
  auth(): Promise<OpenAuth>;
  close(): Promise<void>;
}

const kinds = ["mcp", "openapi", "files", "skills", "ui"] as const;

export function nodeCapabilities(options: NodeCapabilitiesOptions): NodeCapabilities {
  const { promise: adopted, resolve: adopt } = Promise.withResolvers<Capabilities>();
  let own: Capabilities | undefined;
  const configOf = (id: string): ConnectionAuth | undefined => {
    const row = own?.registry.list().find((it) => it.id === id);
    return row && connectionAuthOf(row);
  };
  let opening: Promise<OpenAuth> | undefined;
  const auth = () => (opening ??= open(options, configOf));
  let loading: Promise<ReadonlyMap<string, CapabilityFactory>> | undefined;
  const loaded = () => (loading ??= load(options, auth));
  return {
    options: {
      factories: kinds.map((kind) => ({
        kind,
        check: async (config) => (await factoryOf(loaded, kind)).check?.(config) ?? config,
        create: async (row, resolver) => (await factoryOf(loaded, kind)).create(row, resolver),
      })),
      resolver: {
        resolve: async (ref, signal) => (await auth()).resolver.resolve(ref, signal),
        refresh: async (ref, version, signal) =>
          (await auth()).resolver.refresh(ref, version, signal),
      },
      authState: async (id, config) => shownAuth(config, await (await auth()).state(id)),
    },
    adopt(capabilities) {
      own = capabilities;
      adopt(capabilities);
    },
    adopted,
    auth,
    close: async () => {
      await (await opening)?.close();
    },
  };
}

async function open(
  { credentials, agentId, folder, env }: NodeCapabilitiesOptions,
  configOf: (id: string) => ConnectionAuth | undefined,
): Promise<OpenAuth> {
  const { openAuth } = await import("../../auth/host/index.ts");
  return openAuth({ path: credentials, agentId, folder, env, configOf });
}

async function factoryOf(
  loaded: () => Promise<ReadonlyMap<string, CapabilityFactory>>,
  kind: string,
): Promise<CapabilityFactory> {
  const factory = (await loaded()).get(kind);
  if (!factory) throw new Error(`There is no factory for ${kind}.`);
  return factory;
}

async function load(
  { folder, homes, env, protectedPaths, sandbox, readOnly, guarded }: NodeCapabilitiesOptions,
  auth: () => Promise<OpenAuth>,
): Promise<ReadonlyMap<string, CapabilityFactory>> {
  const [kinds, { mcpOnNode }, { openFiles }, { parseSkill }, { parse }] = await Promise.all([
    import("@lichen/capability/connectors"),
    import("../../connectors/host/mcp-on-node.ts"),
    import("../../connectors/host/files-on-node.ts"),
    import("../../folder/skill.ts"),
    import("yaml"),
  ]);
  const open = (root: string) => {
    const place = resolve(folder, root);
    const kept = () => [...readOnly(), ...guarded(place)];
    return openFiles(place, { protectedPaths, readOnly: kept });
  };
  const factories = [
    mcpOnNode({
      folder,
      path: env("PATH") ?? "",
      home: (id) => {
        const home = join(homes, id);
        mkdirSync(home, { recursive: true, mode: 0o700 });
        return home;
      },
      sandbox,
      readOnly,
      guarded,
      secret: async (name) => (await auth()).secret(name),
    }),
    kinds.filesFactory(open),
    kinds.skillsFactory(open, async (source, name) => (await parseSkill(source, name)).skill),
    kinds.uiFactory(),
    kinds.openApiFactory({
      readSpec: (path, signal) => readSpecFile(resolve(folder, path), path, signal),
      parseYaml: (text) => parse(text, { maxAliasCount: 100 }),
    }),
  ];
  return new Map(factories.map((factory) => [factory.kind, factory]));
}

/** What a capability's auth is made from. Its tokens are good for where its calls go, and nowhere else. */
export function connectionAuthOf({
  kind,
  config,
  auth,
  namespace,
}: Pick<ConnectorRow, "kind" | "config" | "auth" | "namespace">): ConnectionAuth {
  const places = kind === "mcp" ? [config["url"]] : [config["baseUrl"], config["spec"]];
  const resource = places.find(
    (it): it is string => typeof it === "string" && /^https?:/i.test(it),
  );
  return { auth, resource, name: namespace };
}

/** How an auth is set up and how it stands, without a secret. */
function shownAuth(
  config: AuthConfig,
  state: Awaited<ReturnType<OpenAuth["state"]>>,
): Awaited<ReturnType<NonNullable<CapabilityOptions["authState"]>>> {
  const { scopes: asked, ...rest } = { scopes: undefined, ...config };
  const scopes = asked ?? state?.scopes;
  return {
    ...rest,
    state: state?.state ?? "unknown",
    ...(scopes === undefined ? {} : { scopes: [...scopes] }),
  };
}

/** Where credentials of an agent lie beside its store. */
export function connectionCredentials(stateDir: string): string {
  return join(stateDir, "credentials.db");
}
