// A folder of files as a capability: read, and where its owner says so written, never left.
//
//   M60  Every path is read from the folder on; what would leave it is refused before the host is asked.
//   M61  A folder of mode `read` lends nothing that changes it.

import type { CallContext, Connector } from "../../connector.ts";
import { toBase64 } from "../../execute/base64.ts";
import { imageLimits } from "../../execute/image-collector.ts";
import { OperationError } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import type { Operation } from "../../operation.ts";
import { checkInput } from "../check-input.ts";
import { hint } from "../nearest.ts";
import { filePath, innerPath } from "./file-path.ts";
import type { FilePart, FileStat, FileStore } from "./file-store.ts";
import { fileOperations, mostFound, mostListed, mostRead, mostWhole } from "./operations.ts";
import { searchFiles } from "./search.ts";
import { imageTypeOf, longestCharacter, textOf, wholeCharacters } from "./text.ts";

export interface FilesConnectorOptions {
  /** Of the capability's row. */
  readonly id: string;
  readonly namespace: string;
  readonly description?: string;
  readonly mode: "read" | "write";
  readonly store: FileStore;
}

/** What each operation takes, once it fits its schema. */
interface Inputs {
  list: { path?: string; after?: string; limit?: number };
  stat: { path: string };
  read: { path: string; offset?: number; limit?: number; encoding?: "text" | "base64" };
  search: { text: string; path?: string; limit?: number };
  write: { path: string; text: string; create?: boolean; version?: string };
  edit: { path: string; old: string; new: string; all?: boolean };
  mkdir: { path: string };
  move: { from: string; to: string };
  remove: { path: string };
}

type Calls = {
  readonly [K in keyof Inputs]: (
    store: FileStore,
    input: Inputs[K],
    context: CallContext,
  ) => Promise<JsonObject>;
};

export function createFilesConnector(options: FilesConnectorOptions): Connector {
  const { id, namespace, description, mode, store } = options;
  const offered: readonly Operation[] =
    mode === "write" ? fileOperations : fileOperations.filter(({ label }) => label === "read");
  return {
    id,
    kind: "files",
    namespace,
    ...(description === undefined ? {} : { description }),
    operations: async () => offered,
    async call(name, input, context) {
      const operation = offered.find((it) => it.name === name);
      if (!operation || !isCall(name)) throw unknown(name, mode, offered);
      checkInput(name, input, operation.input);
      context.signal.throwIfAborted();
      return await answer(name, store, input, context);
    },
  };
}

const calls: Calls = {
  async list(store, { path = "", after = "", limit = mostListed }) {
    const entries = await store.list(filePath(path));
    const rest = entries
      .filter(({ name }) => name > after)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return {
      entries: rest.slice(0, limit).map(({ name, kind }) => ({ name, kind })),
      more: rest.length > limit,
    };
  },
  async stat(store, { path }) {
    return told(await store.stat(filePath(path)));
  },
  async read(store, { path, offset = 0, limit = mostRead, encoding = "text" }, context) {
    // Less than a character would be no step forward.
    const bytesAsked = encoding === "text" ? Math.max(limit, longestCharacter) : limit;
    const part = await store.read(innerPath(path), offset, bytesAsked);
    const { size, version } = part;
    if (encoding === "base64")
      return { base64: toBase64(part.bytes), size, version, ...nextOf(part, offset) };
    const mediaType = offset === 0 ? imageTypeOf(part.bytes) : undefined;
    if (mediaType !== undefined) return image(store, path, part, mediaType, context);
    const isEnd = offset + part.bytes.length >= size;
    const bytes = isEnd ? part.bytes : part.bytes.subarray(0, wholeCharacters(part.bytes));
    const text = textOf(bytes);
    if (text === undefined)
      throw new OperationError(
        "invalid_input",
        `${path} is no text from byte ${offset} on: read it with encoding "base64".`,
      );
    return { text, size, version, ...nextOf({ ...part, bytes }, offset) };
  },
  async search(store, { text, path = "", limit = mostFound }, { signal }) {
    const { found, isWhole } = await searchFiles(
      store,
      { text, path: filePath(path), limit },
      signal,
    );
    return { found: found.map((hit) => ({ ...hit })), isWhole };
  },
  async write(store, { path, text, create, version }) {
    const content = bytesOf(text);
    const { isNew, ...stat } = await store.write(innerPath(path), content, {
      ...(create === undefined ? {} : { create }),
      ...(version === undefined ? {} : { version }),
    });
    return { isNew, size: stat.size, version: stat.version };
  },
  async edit(store, { path, old, new: wanted, all = false }) {
    const place = innerPath(path);
    const part = await store.read(place, 0, mostWhole);
    if (part.size > mostWhole) throw tooLarge(path, part.size);
    const text = textOf(part.bytes);
    if (text === undefined) throw new OperationError("invalid_input", `${path} is no text.`);
    const pieces = text.split(old);
    const times = pieces.length - 1;
    if (times === 0 || (times > 1 && !all))
      throw new OperationError(
        "invalid_input",
        times === 0
          ? `${path} does not hold that text: read it again and take it as it stands there.`
          : `${path} holds that text ${times} times: give more of what is around it, or say all.`,
      );
    // What was read is what is replaced.
    const { version } = await store.write(place, bytesOf(pieces.join(wanted)), {
      version: part.version,
    });
    return { replaced: times, version };
  },
  async mkdir(store, { path }) {
    await store.makeFolder(innerPath(path));
    return {};
  },
  async move(store, { from, to }) {
    const [source, target] = [innerPath(from), innerPath(to)];
    if (target === source || target.startsWith(`${source}/`))
      throw new OperationError(
        "invalid_input",
        `${from} cannot be moved to itself or into itself.`,
      );
    await store.move(source, target);
    return {};
  },
  async remove(store, { path }) {
    await store.remove(innerPath(path));
    return {};
  },
};

function isCall(name: string): name is keyof Inputs {
  return Object.hasOwn(calls, name);
}

function answer<K extends keyof Inputs>(
  name: K,
  store: FileStore,
  input: JsonObject,
  context: CallContext,
): Promise<JsonObject> {
  // It fits the schema of its operation.
  return calls[name](store, input as Inputs[K], context);
}

async function image(
  store: FileStore,
  path: string,
  first: FilePart,
  mediaType: string,
  context: CallContext,
): Promise<JsonObject> {
  if (first.size > imageLimits.bytes)
    throw new OperationError(
      "too_large",
      `${path} is an image of ${first.size} bytes, and ${imageLimits.bytes} are the most that can be looked at: read it with encoding "base64", in parts.`,
    );
  const whole =
    first.bytes.length === first.size ? first : await store.read(innerPath(path), 0, first.size);
  return {
    image: { ...context.image({ mediaType, bytes: whole.bytes }) },
    size: whole.size,
    version: whole.version,
  };
}

function nextOf({ bytes, size }: FilePart, offset: number): { next?: number } {
  const next = offset + bytes.length;
  return next < size && bytes.length > 0 ? { next } : {};
}

function told({ kind, size, changedAt, version }: FileStat): JsonObject {
  return { kind, size, changedAt: new Date(changedAt).toISOString(), version };
}

function bytesOf(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > mostWhole) throw tooLarge("The text", bytes.length);
  return bytes;
}

function tooLarge(what: string, size: number): OperationError {
  return new OperationError(
    "too_large",
    `${what} has ${size} bytes, and ${mostWhole} are the most that is written at once.`,
  );
}

function unknown(name: string, mode: string, offered: readonly Operation[]): OperationError {
  const isWrite = fileOperations.some((it) => it.name === name);
  return new OperationError(
    "unknown_operation",
    isWrite && mode === "read"
      ? `These files may only be read: ${name} is not lent.`
      : `There is no operation ${name.slice(0, 100)}.${hint(
          name,
          offered.map((it) => it.name),
        )}`,
  );
}
