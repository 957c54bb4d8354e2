// What agents of the protocol send, as far as it is read here, checked at the door. Unknown members are left out,
// unknown updates and unknown blocks stay unread; their lines are kept as received.

import { Json } from "@lichen/wire";
import * as z from "zod";

/** A block of a message: a text, an image, or something with a name. */
const Block = z.object({
  type: z.string(),
  text: z.string().optional().catch(undefined),
  data: z.string().optional().catch(undefined),
  mimeType: z.string().nullish().catch(undefined),
  uri: z.string().nullish().catch(undefined),
  name: z.string().optional().catch(undefined),
  resource: z.object({ uri: z.string(), text: z.string().optional() }).optional().catch(undefined),
});
export type Block = z.infer<typeof Block>;

const Kind = z.enum([
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "switch_mode",
  "other",
]);
export type CallKind = z.infer<typeof Kind>;

const Status = z.enum(["pending", "in_progress", "completed", "failed"]);
export type CallStatus = z.infer<typeof Status>;

const Content = z.union([
  z.object({ type: z.literal("content"), content: Block }),
  z.object({
    type: z.literal("diff"),
    path: z.string(),
    oldText: z.string().nullish(),
    newText: z.string(),
  }),
  z.object({ type: z.literal("terminal"), terminalId: z.string() }),
]);
export type CallContent = z.infer<typeof Content>;

const Location = z.object({ path: z.string(), line: z.number().nullish().catch(undefined) });
export type CallLocation = z.infer<typeof Location>;

/** The one method of a schema that is used here. */
interface Parser<Item> {
  safeParse(
    value: unknown,
  ): { readonly success: true; readonly data: Item } | { readonly success: false };
}

/** A list whose items that do not fit are left out. */
function kept<Item>(item: Parser<Item>) {
  return z
    .array(z.unknown())
    .nullish()
    .catch(undefined)
    .transform((all) => (all ? itemsOf(item, all) : undefined));
}

function itemsOf<Item>(item: Parser<Item>, all: readonly unknown[]): Item[] {
  return all.flatMap((it) => {
    const parsed = item.safeParse(it);
    return parsed.success ? [parsed.data] : [];
  });
}

/** What a call is, or what is new about it: what is missing stays as it was. */
const CallFields = z.object({
  toolCallId: z.string(),
  title: z.string().nullish().catch(undefined),
  name: z.string().nullish().catch(undefined),
  kind: Kind.nullish().catch("other"),
  status: Status.nullish().catch(undefined),
  content: kept(Content),
  locations: kept(Location),
  rawInput: Json.optional().catch(undefined),
  rawOutput: Json.optional().catch(undefined),
  /** Where many agents tell a tool's own name. */
  _meta: z
    .object({ toolName: z.string().optional().catch(undefined) })
    .nullish()
    .catch(undefined),
});
export type CallFields = z.infer<typeof CallFields>;

const Command = z.object({ name: z.string() });

const Update = z.discriminatedUnion("sessionUpdate", [
  z.object({
    sessionUpdate: z.enum(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]),
    content: Block,
    messageId: z.string().nullish().catch(undefined),
  }),
  CallFields.extend({ sessionUpdate: z.enum(["tool_call", "tool_call_update"]) }),
  z.object({
    sessionUpdate: z.literal("available_commands_update"),
    availableCommands: kept(Command),
  }),
  z.object({ sessionUpdate: z.literal("current_mode_update"), currentModeId: z.string() }),
  z.object({
    sessionUpdate: z.literal("config_option_update"),
    configOptions: z.unknown().optional(),
  }),
  z.object({
    sessionUpdate: z.literal("usage_update"),
    cost: z
      .object({ amount: z.number().nonnegative(), currency: z.string() })
      .nullish()
      .catch(undefined),
  }),
]);
export type Update = z.infer<typeof Update>;
export type ChunkUpdate = Extract<Update, { content: Block }>;

const Params = z.object({ sessionId: z.string(), update: z.unknown().optional() });

/** The update of a `session/update`, or nothing where it is of no kind that is read here. */
export function updateOf(params: unknown): { sessionId: string; update?: Update } | undefined {
  const outer = Params.safeParse(params);
  if (!outer.success) return undefined;
  const inner = Update.safeParse(outer.data.update);
  return { sessionId: outer.data.sessionId, ...(inner.success ? { update: inner.data } : {}) };
}

/** The call that a permission is asked for. */
export function callOf(toolCall: unknown): CallFields | undefined {
  return CallFields.safeParse(toolCall).data;
}

const truth = z.boolean().optional().catch(undefined);

const Initialized = z.object({
  protocolVersion: z.number(),
  agentInfo: z
    .object({ name: z.string(), version: z.string().optional() })
    .nullish()
    .catch(undefined),
  authMethods: kept(
    z.object({
      name: z.string(),
      description: z.string().nullish(),
      args: z.array(z.string()).optional(),
    }),
  ),
  agentCapabilities: z
    .object({
      loadSession: truth,
      promptCapabilities: z.object({ image: truth }).optional().catch(undefined),
      sessionCapabilities: z
        .object({ resume: z.looseObject({}).nullish().catch(undefined) })
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
});

export interface AgentFacts {
  readonly protocolVersion: number;
  readonly name?: string;
  readonly loads: boolean;
  readonly resumes: boolean;
  readonly takesImages: boolean;
  /** Ways to sign in, in words for a person. */
  readonly signIns: readonly { readonly name: string; readonly how?: string }[];
}

/** The answer to `initialize`; nothing where it is none. */
export function factsOf(answer: unknown): AgentFacts | undefined {
  const parsed = Initialized.safeParse(answer);
  if (!parsed.success) return undefined;
  const { protocolVersion, agentInfo, agentCapabilities: can, authMethods } = parsed.data;
  return {
    protocolVersion,
    ...(agentInfo ? { name: agentInfo.name } : {}),
    loads: can?.loadSession === true,
    resumes: !!can?.sessionCapabilities?.resume,
    takesImages: can?.promptCapabilities?.image === true,
    signIns: (authMethods ?? []).map(({ name, description }) => ({
      name,
      ...(description ? { how: description } : {}),
    })),
  };
}

const Choice = z.object({ value: z.string(), name: z.string().optional().catch(undefined) });
const Choices = kept(z.union([Choice, z.object({ options: z.array(Choice) })]));

const SelectOption = z.object({
  id: z.string(),
  type: z.literal("select"),
  category: z.string().nullish().catch(undefined),
  currentValue: z.string(),
  options: Choices,
});

/** A setting of the session that the agent offers: its values, flat. */
export interface Offered {
  readonly id: string;
  readonly category?: string;
  readonly current: string;
  readonly values: readonly { readonly value: string; readonly name: string }[];
}

/** The settings that an agent offers, of those that are a choice among values. */
export function offeredOf(configOptions: unknown): Offered[] {
  const options = kept(SelectOption).parse(configOptions) ?? [];
  return options.map(({ id, category, currentValue, options: choices = [] }) => ({
    id,
    ...(category ? { category } : {}),
    current: currentValue,
    values: choices
      .flatMap((it) => ("options" in it ? it.options : [it]))
      .map(({ value, name = value }) => ({ value, name })),
  }));
}

const Opened = z.object({
  sessionId: z.string().optional().catch(undefined),
  configOptions: z.unknown().optional(),
  modes: z
    .object({
      currentModeId: z.string(),
      availableModes: z.array(z.object({ id: z.string(), name: z.string() })),
    })
    .nullish()
    .catch(undefined),
  /** Of older agents, in place of a setting. */
  models: z
    .object({
      currentModelId: z.string(),
      availableModels: z.array(z.object({ modelId: z.string(), name: z.string() })),
    })
    .nullish()
    .catch(undefined),
});

export interface Modes {
  readonly current: string;
  readonly available: readonly { readonly id: string; readonly name: string }[];
}

/** What `session/new`, `load` or `resume` answered. */
export interface OpenedSession {
  readonly sessionId?: string;
  readonly offered: readonly Offered[];
  readonly modes?: Modes;
  /** Models that are set by a request of their own. */
  readonly models?: Offered;
}

export function openedOf(answer: unknown): OpenedSession {
  const parsed = Opened.safeParse(answer).data;
  if (!parsed) return { offered: [] };
  const { sessionId, configOptions, modes, models } = parsed;
  return {
    ...(sessionId === undefined ? {} : { sessionId }),
    offered: offeredOf(configOptions),
    ...(modes ? { modes: { current: modes.currentModeId, available: modes.availableModes } } : {}),
    ...(models
      ? {
          models: {
            id: "model",
            current: models.currentModelId,
            values: models.availableModels.map(({ modelId, name }) => ({ value: modelId, name })),
          },
        }
      : {}),
  };
}
