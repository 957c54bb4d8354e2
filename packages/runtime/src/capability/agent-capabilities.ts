// An agent's capabilities as a program holds them: what is asked is parsed, what is answered is what crosses a process.

import {
  type AttachRequest as RegistryRequest,
  type AuthConfig,
  type CapabilityRow,
  type CapabilitySource,
  OperationError,
  type Registry,
  RegistryError,
  type SurfaceEvent,
  type SurfaceOperation,
} from "@lichen/capability";
import {
  AttachRequest,
  type CallAnswer,
  CallRequest,
  type CapabilityAuth,
  CapabilityChanges,
  type CapabilityDetail,
  type CapabilityInfo,
  type CapabilityList,
  Fault,
  type FaultCode,
  type JsonObject,
  type OperationInfo,
} from "@lichen/wire";
import type { Platform } from "../platform.ts";
import { parsed } from "../session/parsed.ts";
import { instant } from "../store/ground.ts";
import type { Capabilities } from "./capabilities.ts";
import type { CapabilityHost } from "./capability-host.ts";
import { ownersCall } from "./owners-call.ts";

export interface AgentCapabilitiesOptions {
  readonly host: CapabilityHost;
  readonly platform: Platform;
  readonly authState?: ((id: string, auth: AuthConfig) => Promise<CapabilityAuth>) | undefined;
}

const pageLimit = 200;
const defaultPage = 100;

export class AgentCapabilities implements Capabilities {
  readonly #options: AgentCapabilitiesOptions;

  constructor(options: AgentCapabilitiesOptions) {
    this.#options = options;
  }

  get registry(): Registry {
    return this.#options.host.registry;
  }

  get source(): CapabilitySource {
    return this.registry;
  }

  async list(): Promise<CapabilityList> {
    const { revision, renamed } = this.registry.surface();
    const capabilities = await Promise.all(this.registry.list().map((row) => this.#info(row)));
    return { capabilities, revision, renamed: { ...renamed } };
  }

  async attach(request: AttachRequest): Promise<{ info: CapabilityInfo; replay: boolean }> {
    const wanted = parsed(AttachRequest, request);
    const known = new Set(this.registry.list().map(({ id }) => id));
    // Whoever resolves auth checks it; its shape is the capability package's own.
    const row = await refusing(this.registry.attach(wanted as RegistryRequest));
    return { info: await this.#info(row), replay: known.has(row.id) };
  }

  async read(
    name: string,
    page: { limit?: number; after?: string } = {},
  ): Promise<CapabilityDetail> {
    const { limit = defaultPage, after = "" } = page;
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > pageLimit)
      throw new Fault("invalid", `limit: a whole number from 1 to ${pageLimit}.`);
    const row = this.#shown(name);
    const { namespaces } = this.registry.surface();
    const all = namespaces.find(({ id }) => id === row.id)?.operations ?? [];
    const rest = all.filter(({ property }) => property > after);
    const operations = rest.slice(0, limit).map(toOperationInfo);
    const last = operations.at(-1);
    return {
      info: await this.#info(row),
      operations,
      ...(rest.length > limit && last ? { next: last.property } : {}),
    };
  }

  async change(name: string, changes: CapabilityChanges): Promise<CapabilityInfo> {
    const wanted = parsed(CapabilityChanges, changes);
    refuseOfFolder(this.#shown(name), "change it in");
    return this.#info(await refusing(this.registry.change(name, wanted)));
  }

  async detach(name: string): Promise<void> {
    const row = this.registry.list().find(({ id, namespace }) => id === name || namespace === name);
    if (row === undefined) return;
    refuseOfFolder(row, "take it out of");
    try {
      await this.registry.detach(row.id);
    } catch (error) {
      // Somebody else was first.
      if (RegistryError.is(error) && error.code === "unknown_capability") return;
      throw toFault(error);
    }
  }

  async refresh(name: string): Promise<CapabilityInfo> {
    return this.#info(await refusing(this.registry.refresh(name)));
  }

  async call(
    name: string,
    request: CallRequest,
    options: { signal?: AbortSignal } = {},
  ): Promise<CallAnswer> {
    const wanted = parsed(CallRequest, request);
    const row = this.#shown(name);
    const { platform } = this.#options;
    return ownersCall({ source: this.registry, row, request: wanted, platform, ...options });
  }

  observe(listener: (event: SurfaceEvent) => void): () => void {
    return this.#options.host.observe(listener);
  }

  #shown(name: string): CapabilityRow {
    try {
      return this.registry.show(name);
    } catch (error) {
      throw toFault(error);
    }
  }

  async #info(row: CapabilityRow): Promise<CapabilityInfo> {
    const { id, kind, namespace, state, description, grant, problem, config, labels, file } = row;
    return {
      ...{ id, kind, namespace, state, grant, config: { ...config } as JsonObject },
      ...(description === "" ? {} : { description }),
      operations: row.operations.length,
      ...(problem ? { problem } : {}),
      auth: await this.#auth(row),
      labels: { ...labels },
      ...(file === undefined ? {} : { file }),
      createdAt: instant(row.createdAt),
    };
  }

  async #auth({ id, auth }: CapabilityRow): Promise<CapabilityAuth> {
    const { authState, platform } = this.#options;
    if (auth.type === "none") return { type: "none", state: "none" };
    try {
      if (authState) return await authState(id, auth);
    } catch (error) {
      platform.report(error);
    }
    return { type: auth.type, state: "unknown" };
  }
}

/** What a file of the agent's folder declares is changed there, and would not stay as it is. */
function refuseOfFolder({ namespace, file }: CapabilityRow, instead: string): void {
  if (file === undefined) return;
  throw new Fault("invalid", `${namespace} belongs to the agent's folder: ${instead} ${file}.`);
}

function toOperationInfo(operation: SurfaceOperation): OperationInfo {
  const { name, property, description, input, output, label, confirm, replaySafe } = operation;
  return {
    ...{ name, property, description, label },
    input: { ...input } as JsonObject,
    ...(output === undefined ? {} : { output: { ...output } as JsonObject }),
    confirm: confirm === true,
    replaySafe: replaySafe === true,
  };
}

const codes: Readonly<Record<RegistryError["code"], FaultCode>> = {
  unknown_capability: "unknown_capability",
  unknown_kind: "invalid",
  invalid: "invalid",
  invalid_move: "conflict",
  conflict: "conflict",
  no_transaction: "internal",
  attach_failed: "unavailable",
  closed: "unavailable",
};

function toFault(error: unknown): unknown {
  if (RegistryError.is(error)) {
    const retryable = error.code === "closed";
    return new Fault(codes[error.code], error.message, { cause: error, retryable });
  }
  if (error instanceof OperationError && error.code === "detached")
    return new Fault("unknown_capability", error.message, { cause: error });
  return error;
}

async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toFault(error);
  }
}
