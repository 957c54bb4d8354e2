// Skills as a capability: what an agent can read up on, and the files that belong to it.
//
//   M64  A skill is read by its name; nothing beside the skills' own files is.

import type { Connector } from "../../connector.ts";
import { OperationError } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import type { Operation } from "../../operation.ts";
import type { CapabilityFactory } from "../../registry/factory.ts";
import { checkInput } from "../check-input.ts";
import { filePath, joined } from "../files/file-path.ts";
import type { FileStore } from "../files/file-store.ts";
import { textOf } from "../files/text.ts";
import { hint } from "../nearest.ts";
import { refuseUnknown, textIn } from "../read-config.ts";

/** What a skill says of itself. */
export interface SkillHead {
  readonly name: string;
  readonly description: string;
}

/** Reads the head of a `SKILL.md`; undefined where it is none that can be used. */
export type ReadSkillHead = (
  source: string,
  folder: string,
) => Promise<SkillHead | undefined> | SkillHead | undefined;

export interface SkillsConnectorOptions {
  /** Of the capability's row. */
  readonly id: string;
  readonly namespace: string;
  readonly description?: string;
  /** The folder of skills, one folder each. */
  readonly store: FileStore;
  readonly readHead: ReadSkillHead;
}

const most = { skills: 500, bytes: 262_144 };

const operations: readonly Operation[] = [
  {
    name: "list",
    description: "Lists the skills: what each is for.",
    label: "read",
    input: { type: "object", properties: {}, additionalProperties: false },
    output: {
      type: "object",
      properties: {
        skills: {
          type: "array",
          items: {
            type: "object",
            properties: { name: { type: "string" }, description: { type: "string" } },
            required: ["name", "description"],
          },
        },
      },
      required: ["skills"],
    },
  },
  {
    name: "read",
    description: "Reads a skill, or a file that belongs to it, before doing what it describes.",
    label: "read",
    input: {
      type: "object",
      properties: {
        name: { type: "string" },
        file: { type: "string", description: "A path in the skill's folder. Default SKILL.md." },
      },
      required: ["name"],
      additionalProperties: false,
    },
    output: {
      type: "object",
      properties: {
        text: { type: "string" },
        files: {
          type: "array",
          items: { type: "string" },
          description: "What else belongs to it.",
        },
      },
      required: ["text", "files"],
    },
  },
];

export function createSkillsConnector(options: SkillsConnectorOptions): Connector {
  const { id, namespace, description, store, readHead } = options;
  return {
    id,
    kind: "skills",
    namespace,
    ...(description === undefined ? {} : { description }),
    operations: async () => operations,
    async call(name, input, { signal }) {
      const operation = operations.find((it) => it.name === name);
      if (!operation)
        throw new OperationError(
          "unknown_operation",
          `There is no operation ${name.slice(0, 100)}.${hint(name, ["list", "read"])}`,
        );
      checkInput(name, input, operation.input);
      signal.throwIfAborted();
      if (name === "list") return { skills: await listed(store, readHead, signal) };
      const { name: skill, file = "SKILL.md" } = input as { name: string; file?: string };
      return readSkill(store, skill, file);
    },
  };
}

async function listed(
  store: FileStore,
  readHead: ReadSkillHead,
  signal: AbortSignal,
): Promise<JsonObject[]> {
  const skills: JsonObject[] = [];
  const entries = await store.list("");
  for (const { name, kind } of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    signal.throwIfAborted();
    if (kind !== "folder" || skills.length >= most.skills) continue;
    const source = await sourceOf(store, joined(name, "SKILL.md"));
    const head = source === undefined ? undefined : await readHead(source, name);
    if (head) skills.push({ name: head.name, description: head.description });
  }
  return skills;
}

async function readSkill(store: FileStore, name: string, file: string): Promise<JsonObject> {
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)) throw absent(name, await namesIn(store));
  const names = await namesIn(store);
  if (!names.includes(name)) throw absent(name, names);
  const path = filePath(file);
  const text = await sourceOf(store, joined(name, path));
  if (text === undefined)
    throw new OperationError(
      "not_found",
      `The skill ${name} has no text file ${file.slice(0, 100)} of at most ${most.bytes} bytes.`,
    );
  const beside = await store.list(name);
  const files = beside
    .filter((it) => it.kind !== "other" && it.name !== "SKILL.md")
    .map((it) => (it.kind === "folder" ? `${it.name}/` : it.name));
  return { text, files: files.toSorted() };
}

async function namesIn(store: FileStore): Promise<string[]> {
  return (await store.list("")).filter(({ kind }) => kind === "folder").map(({ name }) => name);
}

async function sourceOf(store: FileStore, path: string): Promise<string | undefined> {
  try {
    const { bytes, size } = await store.read(path, 0, most.bytes);
    return size > most.bytes ? undefined : textOf(bytes);
  } catch (error) {
    if (error instanceof OperationError && error.code !== "unavailable") return undefined;
    throw error;
  }
}

function absent(name: string, names: readonly string[]): OperationError {
  return new OperationError(
    "not_found",
    `There is no skill ${name.slice(0, 100)}.${hint(name, names)}`,
  );
}

/** `open` reaches a folder of skills, as the `files` kind does. */
export function skillsFactory(
  open: (dir: string) => FileStore | Promise<FileStore>,
  readHead: ReadSkillHead,
): CapabilityFactory {
  const dirOf = (config: JsonObject): string => {
    refuseUnknown("skills", config, ["dir"]);
    return textIn("skills", config, "dir");
  };
  return {
    kind: "skills",
    check: (config) => ({ dir: dirOf(config) }),
    async create({ id, namespace, description, config }) {
      const store = await open(dirOf(config));
      return createSkillsConnector({ id, namespace, description, store, readHead });
    },
  };
}
