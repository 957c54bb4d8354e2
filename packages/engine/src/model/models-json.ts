// `models.json`: further endpoints beside an agent, in pi's format. Parsed once at this door, with the reason where it
// cannot be used.
//
// A key is the text itself, or `$NAME` for a variable that is looked up at each request. A command (`!…`) is refused:
// reading a definition never runs a program.

import type {
  ApiKeyAuth,
  AuthContext,
  Model,
  Api,
  Provider,
  ProviderStreams,
} from "@earendil-works/pi-ai";
import { anthropicMessagesApi } from "@earendil-works/pi-ai/api/anthropic-messages.lazy";
import { googleGenerativeAIApi } from "@earendil-works/pi-ai/api/google-generative-ai.lazy";
import { mistralConversationsApi } from "@earendil-works/pi-ai/api/mistral-conversations.lazy";
import { openAICompletionsApi } from "@earendil-works/pi-ai/api/openai-completions.lazy";
import { openAIResponsesApi } from "@earendil-works/pi-ai/api/openai-responses.lazy";
import { createProvider } from "@earendil-works/pi-ai/models";
import { Fault, Json } from "@lichen/wire";
import * as z from "zod";

const value = z.string().min(1);
const headers = z.record(z.string(), value);
const cost = z.strictObject({
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  cacheRead: z.number().nonnegative().default(0),
  cacheWrite: z.number().nonnegative().default(0),
});
const levels = z.record(z.string(), z.string().nullable());
const compat = z.record(z.string(), Json);
const apiName = z.enum([
  "anthropic-messages",
  "google-generative-ai",
  "mistral-conversations",
  "openai-completions",
  "openai-responses",
]);

const modelFields = {
  name: z.string().optional(),
  api: apiName.optional(),
  baseUrl: z.url().optional(),
  reasoning: z.boolean().optional(),
  thinkingLevelMap: levels.optional(),
  input: z.array(z.enum(["text", "image"])).optional(),
  cost: cost.optional(),
  contextWindow: z.int().positive().optional(),
  maxTokens: z.int().positive().optional(),
  headers: headers.optional(),
  compat: compat.optional(),
  samplingParams: z.record(z.string(), Json).optional(),
};

const ProviderConfig = z.strictObject({
  name: z.string().optional(),
  baseUrl: z.url().optional(),
  api: apiName.optional(),
  apiKey: value.optional(),
  /** Sends the key as `Authorization: Bearer`. */
  authHeader: z.boolean().optional(),
  headers: headers.optional(),
  compat: compat.optional(),
  models: z.array(z.strictObject({ id: z.string().min(1), ...modelFields })).optional(),
  modelOverrides: z.record(z.string(), z.strictObject(modelFields)).optional(),
});
type ProviderConfig = z.infer<typeof ProviderConfig>;
type ModelConfig = NonNullable<ProviderConfig["models"]>[number];

/** pi's own shape, which its code reads field by field. */
type Compat = NonNullable<Model<Api>["compat"]>;

export type ModelsJson = Readonly<Record<string, ProviderConfig>>;

const File = z.strictObject({ providers: z.record(z.string().regex(/^[^\s/]+$/), ProviderConfig) });

/** The providers of a `models.json`; a Fault names the first thing that is wrong. */
export function parseModelsJson(text: string): ModelsJson {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw refused(`it is not JSON (${error instanceof Error ? error.message : String(error)})`);
  }
  const file = File.safeParse(parsed);
  if (!file.success) {
    const issue = file.error.issues[0];
    throw refused(`${issue?.path.join(".") || "the file"}: ${issue?.message ?? "not understood"}`);
  }
  for (const [id, provider] of Object.entries(file.data.providers)) {
    const models = [...(provider.models ?? []), ...Object.values(provider.modelOverrides ?? {})];
    for (const [header, given] of models.flatMap((model) => Object.entries(model.headers ?? {})))
      if (/^[$!]/.test(given))
        throw refused(
          `providers.${id}: the header "${header}" belongs among the provider's headers`,
        );
    for (const [field, given] of Object.entries({ apiKey: provider.apiKey, ...provider.headers }))
      if (given?.startsWith("!"))
        throw refused(
          `providers.${id}: "${field}" is a command, and commands are not run: put the value into a variable and write "$NAME"`,
        );
  }
  return file.data.providers;
}

/** A provider of its own, or `known` with what the file says about it. */
export function configuredProvider(id: string, config: ProviderConfig, known?: Provider): Provider {
  const models = modelsOf(id, config, known);
  const auth = config.apiKey === undefined && known ? known.auth.apiKey : keyOf(config, known);
  const resolved = {
    ...(auth === undefined ? {} : { apiKey: withHeaders(auth, config) }),
    ...(known?.auth.oauth === undefined ? {} : { oauth: known.auth.oauth }),
  };
  if (!known)
    return createProvider({ id, name: config.name ?? id, auth: resolved, models, api: apis() });
  const own = apis();
  const streams = (model: Model<Api>): Pick<ProviderStreams, "stream" | "streamSimple"> =>
    (config.models?.some((it) => it.id === model.id) ? own[model.api] : undefined) ?? known;
  return {
    ...known,
    name: config.name ?? known.name,
    auth: resolved,
    getModels: () => models,
    getAllModels: () => models,
    stream: (model, context, options) => streams(model).stream(model, context, options),
    streamSimple: (model, context, options) => streams(model).streamSimple(model, context, options),
  };
}

/** The variables that the file's entry needs. */
export function variablesOf(config: ProviderConfig): string[] {
  return [config.apiKey, ...Object.values(config.headers ?? {})].flatMap((given) => {
    const name = given === undefined ? undefined : variableOf(given);
    return name === undefined ? [] : [name];
  });
}

function modelsOf(id: string, config: ProviderConfig, known?: Provider): Model<Api>[] {
  const base = (known?.getModels() ?? []).map((model): Model<Api> => ({
    ...model,
    ...(config.baseUrl === undefined ? {} : { baseUrl: config.baseUrl }),
  }));
  const template = base[0];
  const added = (config.models ?? []).map((model): Model<Api> => {
    const api = model.api ?? config.api ?? template?.api;
    const baseUrl = model.baseUrl ?? config.baseUrl ?? template?.baseUrl;
    if (api === undefined || baseUrl === undefined)
      throw refused(`providers.${id}: a provider of your own needs "baseUrl" and "api"`);
    return changed(
      {
        id: model.id,
        name: model.id,
        provider: id,
        api,
        baseUrl,
        reasoning: false,
        input: ["text"],
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
        contextWindow: 128_000,
        maxTokens: 16_384,
        ...(config.compat === undefined ? {} : { compat: config.compat as Compat }),
      },
      model,
    );
  });
  if (!known && added.length === 0)
    throw refused(`providers.${id}: is not a provider that is built in, so it needs "models"`);
  const replaced = new Set(added.map((model) => model.id));
  return [...added, ...base.filter((model) => !replaced.has(model.id))].map((model) => {
    const override = config.modelOverrides?.[model.id];
    return override ? changed(model, override) : model;
  });
}

function changed(model: Model<Api>, config: Omit<ModelConfig, "id">): Model<Api> {
  const { compat: own, ...fields } = config;
  const given = Object.fromEntries(Object.entries(fields).filter(([, it]) => it !== undefined));
  return {
    ...model,
    ...given,
    ...(own === undefined ? {} : { compat: { ...model.compat, ...own } as Compat }),
  };
}

function keyOf(config: ProviderConfig, known?: Provider): ApiKeyAuth {
  const name = `${config.name ?? known?.name ?? "endpoint"} key`;
  return {
    name,
    async resolve({ ctx, credential }) {
      // A local endpoint without a key; the client libraries want some text.
      if (config.apiKey === undefined && credential?.key === undefined)
        return { auth: { apiKey: "none" }, source: "models.json" };
      const key = credential?.key ?? (await lookUp(config.apiKey ?? "", ctx));
      if (key === undefined) return undefined;
      return { auth: { apiKey: key }, source: credential ? "stored credential" : "models.json" };
    },
  };
}

function withHeaders(auth: ApiKeyAuth, config: ProviderConfig): ApiKeyAuth {
  if (!config.headers && !config.authHeader) return auth;
  return {
    ...auth,
    async resolve(input) {
      const found = await auth.resolve(input);
      if (!found) return undefined;
      const sent: Record<string, string | null> = { ...found.auth.headers };
      for (const [name, given] of Object.entries(config.headers ?? {})) {
        const header = await lookUp(given, input.ctx);
        if (header === undefined) return undefined;
        sent[name] = header;
      }
      if (config.authHeader && found.auth.apiKey)
        sent["Authorization"] = `Bearer ${found.auth.apiKey}`;
      return { ...found, auth: { ...found.auth, headers: sent } };
    },
  };
}

async function lookUp(given: string, context: AuthContext): Promise<string | undefined> {
  const name = variableOf(given);
  if (name !== undefined) return context.env(name);
  return given.startsWith("$$") ? given.slice(1) : given;
}

function variableOf(given: string): string | undefined {
  return /^\$\{?([A-Za-z_]\w*)\}?$/.exec(given)?.[1];
}

function apis(): Record<string, ProviderStreams> {
  return {
    "anthropic-messages": anthropicMessagesApi(),
    "google-generative-ai": googleGenerativeAIApi(),
    "mistral-conversations": mistralConversationsApi(),
    "openai-completions": openAICompletionsApi(),
    "openai-responses": openAIResponsesApi(),
  };
}

function refused(reason: string): Fault {
  return new Fault("invalid", `models.json cannot be used: ${reason}.`);
}
