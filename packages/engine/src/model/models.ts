// The models an agent can run on: found by `provider/id`, chosen, listed and signed in to.
//
// A provider's catalogue is loaded when a model of it is first asked for, its library at the first request. Keys come
// from the store of credentials or from an injected lookup of variables; this code reads neither files nor the
// environment.

import type {
  Api,
  AssistantMessageEventStream,
  AuthInteraction,
  Context,
  CredentialStore,
  Model,
  SimpleStreamOptions,
} from "@earendil-works/pi-ai";
import {
  createModels as createRegistry,
  getSupportedThinkingLevels,
  type MutableModels,
} from "@earendil-works/pi-ai/models";
import { Fault, type Reasoning } from "@lichen/wire";
import { demoProvider, demoSpec } from "./demo.ts";
import {
  configuredProvider,
  type ModelsJson,
  parseModelsJson,
  variablesOf,
} from "./models-json.ts";
import { nearest } from "./near-names.ts";
import { providers } from "./providers.ts";
import type { After } from "./retry.ts";
import { chosenWay, foundOf, type ListedProvider, type LoginWay, waysOf } from "./sign-in.ts";

export interface ModelsOptions {
  /** The text of `models.json`. */
  readonly modelsJson?: string;
  readonly credentials?: CredentialStore;
  /** A variable of the environment. */
  env?(name: string): string | undefined;
  /** Whether a file exists; some providers keep keys in files of their own. */
  fileExists?(path: string): Promise<boolean>;
  /** Paces the demo model's words, and lets other work in while the catalogues are loaded. */
  readonly after?: After;
}

export type ModelChoice =
  | {
      readonly state: "ready";
      readonly spec: string;
      readonly isDemo: boolean;
      /** A sentence: why this one. */
      readonly why: string;
    }
  | {
      readonly state: "missing";
      readonly spec: string;
      /** Variables that would make it work. */
      readonly keys: readonly string[];
      readonly why: string;
    };

export interface ListedModel {
  readonly spec: string;
  readonly name: string;
  readonly reasoning: readonly Reasoning[];
  readonly images: boolean;
  readonly contextWindow: number;
  /** Its provider has a key or a login. */
  readonly isReady: boolean;
}

export interface Models {
  /** The configured model, or the best that can be had; the demo model only where there is nothing else. */
  whichModel(configured?: string): Promise<ModelChoice>;
  /** Faults with `invalid` where there is no such model. */
  resolveModel(spec: string): Promise<Model<Api>>;
  /** Faults with `invalid` where a model does not exist or does not know the level. */
  checkSettings(settings: { model?: string; reasoning?: Reasoning }): Promise<void>;
  /** Every word of `search` must stand in the model's spec or name. */
  listModels(search?: string): Promise<ListedModel[]>;
  /** Never rejects: failures are events of the stream. */
  stream(
    model: Model<Api>,
    context: Context,
    options: SimpleStreamOptions,
  ): Promise<AssistantMessageEventStream>;
  /** What must not be shown of a request to this model. */
  secretsOf(model: Model<Api>): Promise<string[]>;
  /** Signs in by one of the provider's ways, the first of them where none is named, and stores what comes of it. */
  login(provider: string, interaction: AuthInteraction, way?: LoginWay): Promise<void>;
  logout(provider: string): Promise<void>;
  /** Every provider with how to sign in to it, and what is at hand for it. Asks no provider anything. */
  listProviders(): Promise<ListedProvider[]>;
  /** Takes another text of `models.json`; Faults with `invalid` and keeps the former where it cannot be used. */
  useModelsJson(text: string | undefined): void;
}

export function createModels(options: ModelsOptions = {}): Models {
  return new Registry(options);
}

class Registry implements Models {
  readonly #options: ModelsOptions;
  readonly #registry: MutableModels;
  readonly #loading = new Map<string, Promise<boolean>>();
  #text: string | undefined;
  #config: ModelsJson = {};

  constructor(options: ModelsOptions) {
    this.#options = options;
    this.#registry = createRegistry({
      ...(options.credentials ? { credentials: options.credentials } : {}),
      authContext: {
        env: async (name) => options.env?.(name)?.trim() || undefined,
        fileExists: async (path) => (await options.fileExists?.(path)) ?? false,
      },
      identity: { userAgent: { custom: "lichen" }, attribution: null },
    });
    this.#registry.setProvider(demoProvider(options.after));
    this.useModelsJson(options.modelsJson);
  }

  useModelsJson(text: string | undefined): void {
    if (text === this.#text) return;
    this.#config = text === undefined ? {} : parseModelsJson(text);
    this.#text = text;
    this.#loading.clear();
  }

  async whichModel(configured?: string): Promise<ModelChoice> {
    if (configured !== undefined) {
      await this.resolveModel(configured);
      return this.#ready(configured, "It is the model that was asked for.");
    }
    for (const [id, why] of await this.#candidates()) {
      if (!(await this.#load(id))) continue;
      const known = this.#registry.getModels(id);
      const model =
        own(providers, id)?.preferred?.find((it) => known.some((model) => model.id === it)) ??
        known[0]?.id;
      if (model === undefined) continue;
      const choice = await this.#ready(`${id}/${model}`, why);
      if (choice.state === "ready") return choice;
    }
    const keys = Object.values(providers).flatMap((it) =>
      it.preferred ? it.keys.slice(0, 1) : [],
    );
    return {
      state: "ready",
      spec: demoSpec,
      isDemo: true,
      why: `No model was named and no key was found, so the built-in demo answers. Set a key (${keys.slice(0, 3).join(", ")} …) or name a model to get a real one.`,
    };
  }

  async resolveModel(spec: string): Promise<Model<Api>> {
    const { id, model } = splitSpec(spec);
    if (!(await this.#load(id)))
      throw new Fault(
        "invalid",
        `There is no provider "${id}" for the model "${spec}". Known ones: ${nearest(id, [...Object.keys(providers), ...Object.keys(this.#config)]).join(", ")} …`,
      );
    const found = this.#registry.getModel(id, model);
    if (found) return found;
    const known = this.#registry.getModels(id).map((it) => it.id);
    throw new Fault(
      "invalid",
      `${id} has no model "${model}". Near ones: ${
        nearest(model, known)
          .map((it) => `${id}/${it}`)
          .join(", ") || "none"
      }.`,
    );
  }

  async checkSettings(settings: { model?: string; reasoning?: Reasoning }): Promise<void> {
    if (settings.model === undefined) return;
    const model = await this.resolveModel(settings.model);
    if (settings.reasoning === undefined) return;
    const levels = getSupportedThinkingLevels(model);
    if (!levels.includes(settings.reasoning))
      throw new Fault(
        "invalid",
        `${settings.model} does not know the reasoning level "${settings.reasoning}": use one of ${levels.join(", ")}.`,
      );
  }

  async listModels(search = ""): Promise<ListedModel[]> {
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    const ids = [...new Set([...Object.keys(this.#config), ...Object.keys(providers)])];
    await this.#loadInTurn(ids);
    const ready = new Map<string, boolean>();
    for (const provider of this.#registry.getProviders())
      ready.set(provider.id, (await this.#auth(provider.id)) !== undefined);
    return this.#registry
      .getModels()
      .map((model): ListedModel => ({
        spec: `${model.provider}/${model.id}`,
        name: model.name,
        reasoning: getSupportedThinkingLevels(model),
        images: model.input.includes("image"),
        contextWindow: model.contextWindow,
        isReady: ready.get(model.provider) ?? false,
      }))
      .filter((model) => {
        const text = `${model.spec} ${model.name}`.toLowerCase();
        return words.every((word) => text.includes(word));
      })
      .toSorted((a, b) => Number(b.isReady) - Number(a.isReady) || (a.spec < b.spec ? -1 : 1));
  }

  async stream(
    model: Model<Api>,
    context: Context,
    options: SimpleStreamOptions,
  ): Promise<AssistantMessageEventStream> {
    await this.#load(model.provider);
    return this.#registry.streamSimple(model, context, options);
  }

  async secretsOf(model: Model<Api>): Promise<string[]> {
    const held = this.#heldSecrets();
    try {
      const found = await this.#registry.getAuth(model);
      const sent = [found?.auth.apiKey, ...Object.values(found?.auth.headers ?? {})];
      const plain = sent.flatMap((it) => (it ? [it.replace(/^Bearer /i, "")] : []));
      return [...new Set([...plain, ...held])];
    } catch {
      // Without credentials nothing secret was sent.
      return held;
    }
  }

  /** What the variables hold that are some provider's key, whether a model of it is in use or not. */
  #heldSecrets(): string[] {
    const names = [
      ...Object.values(this.#config).flatMap((config) => variablesOf(config)),
      ...Object.values(providers).flatMap(({ keys }) => keys),
    ].filter((name) => /KEY|TOKEN|SECRET/i.test(name));
    return names.flatMap((name) => this.#options.env?.(name)?.trim() || []);
  }

  async login(provider: string, interaction: AuthInteraction, way?: LoginWay): Promise<void> {
    await this.#known(provider);
    const variables = this.#keys(provider);
    const type = chosenWay(this.#registry.getProvider(provider), { way, id: provider, variables });
    await this.#registry.login(provider, type, interaction, { agentName: "Lichen" });
  }

  async listProviders(): Promise<ListedProvider[]> {
    const stored = (await this.#options.credentials?.list()) ?? [];
    const ids = [...new Set([...Object.keys(this.#config), ...Object.keys(providers)])];
    const loaded = await Promise.allSettled(ids.map((id) => this.#load(id)));
    const usable = ids.filter((_, index) => loaded[index]?.status === "fulfilled");
    return Promise.all(
      usable.map(async (id): Promise<ListedProvider> => {
        const auth = await this.#auth(id);
        const isStored = stored.some(({ providerId }) => providerId === id);
        const provider = this.#registry.getProvider(id);
        return {
          ...{ id, name: provider?.name ?? id, ways: waysOf(provider), variables: this.#keys(id) },
          ...(auth ? { found: foundOf(auth, isStored) } : {}),
        };
      }),
    );
  }

  async logout(provider: string): Promise<void> {
    await this.#known(provider);
    await this.#registry.logout(provider);
  }

  async #known(provider: string): Promise<void> {
    if (!(await this.#load(provider)))
      throw new Fault(
        "invalid",
        `There is no provider "${provider}". Near ones: ${nearest(provider, Object.keys(providers)).join(", ")}.`,
      );
  }

  /** Providers in the order in which they are tried, and what speaks for each. */
  async #candidates(): Promise<[id: string, why: string][]> {
    const found: [string, string][] = Object.keys(this.#config).map((id) => [
      id,
      `No model was named; models.json has the provider ${id}.`,
    ]);
    for (const { providerId } of (await this.#options.credentials?.list()) ?? [])
      found.push([providerId, `No model was named; there is a login for ${providerId}.`]);
    for (const [id, entry] of Object.entries(providers)) {
      const key = entry.preferred && entry.keys.find((name) => this.#options.env?.(name)?.trim());
      if (key !== undefined) found.push([id, `No model was named; ${key} is set.`]);
    }
    return found;
  }

  async #ready(spec: string, why: string): Promise<ModelChoice> {
    const { id } = splitSpec(spec);
    if (await this.#auth(id)) return { state: "ready", spec, isDemo: spec === demoSpec, why };
    const keys = this.#keys(id);
    return {
      state: "missing",
      spec,
      keys,
      why: `The model ${spec} cannot be used: ${
        keys.length > 0
          ? `no key for ${id} was found; set ${keys.join(" or ")}`
          : `${id} needs a login`
      }.`,
    };
  }

  #keys(id: string): string[] {
    const config = own(this.#config, id);
    const named = config ? variablesOf(config) : [];
    return named.length > 0 ? named : [...(own(providers, id)?.keys ?? [])];
  }

  async #auth(id: string) {
    try {
      return await this.#registry.checkAuth(id);
    } catch {
      // A store that cannot be read has no key for it; the request itself tells why.
      return undefined;
    }
  }

  /** Loads what is not there yet, one after another: other work of the process goes on in between. */
  async #loadInTurn(ids: readonly string[]): Promise<void> {
    const { after } = this.#options;
    for (const id of ids) {
      if (this.#loading.has(id)) continue;
      // An entry of models.json that cannot be used hides its own models only.
      await this.#load(id).catch(() => {});
      if (after) await new Promise<void>((wake) => after(0, wake));
    }
    await Promise.allSettled(ids.map((id) => this.#load(id)));
  }

  /** Whether there is such a provider; it is registered then. */
  #load(id: string): Promise<boolean> {
    if (id === "lichen") return Promise.resolve(true);
    let loading = this.#loading.get(id);
    if (!loading) {
      loading = this.#loadOnce(id);
      this.#loading.set(id, loading);
      loading.catch(() => this.#loading.delete(id));
    }
    return loading;
  }

  async #loadOnce(id: string): Promise<boolean> {
    const config = own(this.#config, id);
    const entry = own(providers, id);
    if (!config && !entry) {
      this.#registry.deleteProvider(id);
      return false;
    }
    const known = await entry?.load();
    const provider = config ? configuredProvider(id, config, known) : known;
    if (provider) this.#registry.setProvider(provider);
    return provider !== undefined;
  }
}

function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function splitSpec(spec: string): { id: string; model: string } {
  const at = spec.indexOf("/");
  if (at < 1 || at === spec.length - 1)
    throw new Fault(
      "invalid",
      `"${spec}" is not a model: write provider/model, such as anthropic/claude-sonnet-5-5.`,
    );
  return { id: spec.slice(0, at), model: spec.slice(at + 1) };
}
