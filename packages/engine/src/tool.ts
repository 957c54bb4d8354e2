// A tool: what an agent's author writes and any engine can run.
//
// A tool knows nothing of models, logs or approvals. Its labels are its author's word: `read` and replay-safe calls run
// again after a crash, `confirm` waits for a person, and no remote party's hint lowers either.

import type { Access } from "@lichen/capability";
import type { Outcome, OutcomeBlock, Program } from "@lichen/runtime";
import {
  cut,
  imageTypeOfBase64,
  InlineImage,
  Json,
  type JsonObject,
  type Label,
} from "@lichen/wire";
import type { Answers, AskedQuestion } from "./asking.ts";

export interface Tool {
  readonly name: string;
  /** For the model: what the tool does and when to use it. */
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
  readonly label: Label;
  /** The key that grants name; without one no grant decides about it. */
  readonly grant?: string;
  /** Running it twice with the same input does no harm. */
  readonly replaySafe?: boolean;
  /** A person must allow each call. A function answers what to tell that person, or undefined where this call needs nobody. */
  readonly confirm?: boolean | ((input: JsonObject) => string | undefined);
  /** Its work ends by itself, and soon, when its signal fires: a stop waits for what it still has to keep. */
  readonly endsItself?: boolean;
  /** Hidden from the model until the conversation activates it. */
  readonly deferred?: boolean;
  /** `sequential` never runs beside another call of the same message. */
  readonly executionMode?: "parallel" | "sequential";
  /** The validated input; throws with a reason that a model and a person can read. Must accept what it returned. */
  parse(input: unknown): JsonObject;
  /**
   * Does the work. An object with a `content` array is the result as it stands, a string is its text, and anything
   * else becomes JSON text. A throw is an error result that the model reads.
   */
  execute(input: JsonObject, context: ToolContext): unknown;
}

export interface ToolContext {
  /** The agent's working directory. */
  readonly cwd: string;
  /** Aborts when the run is cancelled or its process drains. */
  readonly signal: AbortSignal;
  readonly session: {
    readonly agent: string;
    readonly session: string;
    readonly commandId: string;
  };
  readonly tools: ToolSwitches;
  /** Shows what the tool has put out so far (the whole of it); never stored. */
  output(text: string): void;
  /**
   * Asks a person, and waits for the answer: durable, over restarts too. 1 to 8 questions at once; a rejection says what
   * of them does not fit, that the call has ended already, or that the run stops. Unanswered it ends as `expired`.
   *
   * Ask first, act after, and label the tool that asks `read`: after a restart its call runs again (as a replay-safe one
   * does) and gets the answers it had, in the order of its asking. The call of any other tool counts as begun while it
   * asks: a restart ends it as interrupted and withdraws its question. For a yes or no before a write there is `confirm`.
   */
  readonly ask: (
    questions: readonly AskedQuestion[],
    options?: { readonly description?: string },
  ) => Promise<Answers>;
  /** Of a tool whose work is a program: the journal of the calls that it makes. */
  readonly program?: () => Promise<Program>;
  /** Asks as `ask` does, for the call of a program that has this ordinal. */
  readonly askFor?: (
    ordinal: number,
  ) => (
    questions: readonly object[],
    options?: { readonly description?: string },
  ) => Promise<Answers>;
  /** All that decides about calls in this session, as it stands now. */
  readonly access?: () => Access;
  /** A text without what the host holds as secret. */
  readonly clean?: (text: string) => Promise<string>;
  readonly sessionManager?: {
    /** The caller's own name of the session. */
    getSessionId(): string;
    getHeader(): Json;
    getBranch(): Json[];
  };
}

/** The tools of one conversation. */
export interface ToolSwitches {
  /** Names that the model sees now. */
  active(): string[];
  /** All tools of the agent, deferred ones too. */
  registered(): { name: string; description: string; deferred: boolean }[];
  /** Shows deferred tools to the model from its next request on, for the rest of the conversation. Answers what is new. */
  activate(names: readonly string[]): Promise<string[]>;
}

/** What an `execute` returned, as an outcome. */
export function outcomeOf(result: unknown): Outcome {
  if (isResult(result)) {
    const shown = Json.safeParse(result.data ?? result.details);
    return {
      content: result.content.map(blockOf),
      isError: result.isError === true,
      ...(shown.success ? { data: shown.data } : {}),
    };
  }
  const text = typeof result === "string" ? result : (JSON.stringify(result) ?? "null");
  return { content: [{ type: "text", text }], isError: false };
}

/** An outcome that tells the model of a failure. */
export function errorOutcome(reason: string): Outcome {
  return { content: [{ type: "text", text: reason }], isError: true };
}

interface ToolResult {
  content: unknown[];
  isError?: unknown;
  data?: unknown;
  details?: unknown;
}

function isResult(value: unknown): value is ToolResult {
  return (
    typeof value === "object" &&
    value !== null &&
    "content" in value &&
    Array.isArray(value.content)
  );
}

/** An image under the kind that its bytes are of; what is none, or none that models take, becomes words. */
function imageOf(given: string, data: string): OutcomeBlock {
  const plain = data.replace(/\s+/g, "");
  const image = InlineImage.safeParse({ mimeType: imageTypeOfBase64(plain), data: plain });
  if (image.success) return { type: "image", ...image.data };
  const text = `(The tool gave something as an image, ${cut(given, 100)}, that is none a model takes: PNG, JPEG, GIF or WebP in base64.)`;
  return { type: "text", text };
}

/** A block of text or of an image (base64); any other block is shown to the model as its JSON. */
function blockOf(block: unknown): OutcomeBlock {
  if (typeof block === "object" && block !== null && "type" in block) {
    if (block.type === "text" && "text" in block && typeof block.text === "string")
      return { type: "text", text: block.text };
    if (
      block.type === "image" &&
      "data" in block &&
      typeof block.data === "string" &&
      "mimeType" in block &&
      typeof block.mimeType === "string"
    )
      return imageOf(block.mimeType, block.data);
  }
  return { type: "text", text: JSON.stringify(block) ?? "null" };
}
