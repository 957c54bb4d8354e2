// A kind of capability for the tests: a book of notes in memory, with an operation of each sort.

import { type CapabilityFactory, OperationError } from "@lichen/capability";
import type { CapabilityOptions } from "@lichen/runtime";

const text = {
  type: "object",
  properties: { text: { type: "string" } },
  additionalProperties: false,
};
const nothing = { type: "object", properties: {}, additionalProperties: false };

const operations = [
  { name: "list", description: "All notes.", input: nothing, label: "read" },
  { name: "add-note", description: "Adds a note.", input: text, label: "write" },
  { name: "burn", description: "Burns all.", input: nothing, label: "write", confirm: true },
  { name: "fail", description: "Fails.", input: nothing, label: "read" },
  { name: "draw", description: "Draws.", input: nothing, label: "read" },
  { name: "wait", description: "Never ends.", input: nothing, label: "read" },
] as const;

export interface Notes {
  readonly options: CapabilityOptions;
  /** Settles once `wait` was called. */
  readonly waited: Promise<void>;
}

/** Every book of one `Notes` is the same one. */
export function notesCapability(): Notes {
  const notes: string[] = [];
  const waited = Promise.withResolvers<void>();
  const factory: CapabilityFactory = {
    kind: "notes",
    check: (config) => {
      if (Object.keys(config).every((key) => key === "title" || key === "away")) return config;
      throw new Error("notes take a title.");
    },
    create: ({ id, config }) => ({
      id,
      kind: "notes",
      namespace: "notes",
      operations: async () => {
        if (config["away"] !== true) return operations;
        throw new OperationError("unreachable", "The notes are away: bring them back.");
      },
      call: async (operation, input, context) => {
        const { signal } = context;
        switch (operation) {
          case "list":
            return notes;
          case "add-note":
            notes.push(JSON.stringify(input["text"]).slice(1, -1));
            return notes.length;
          case "burn":
            return void notes.splice(0);
          case "draw":
            return context.image({ mediaType: "image/png", bytes: new Uint8Array([1, 2, 3]) });
          case "wait": {
            const { promise, reject } = Promise.withResolvers<never>();
            signal.addEventListener("abort", () => reject(signal.reason));
            waited.resolve();
            return promise;
          }
          default:
            throw new OperationError("out_of_ink", "There is no ink: fill the pen.");
        }
      },
    }),
  };
  const resolver = { resolve: async () => ({ ok: true, auth: { kind: "none" } }) as const };
  return {
    waited: waited.promise,
    options: {
      factories: [factory],
      resolver,
      authState: async (_, auth) =>
        auth.type === "header"
          ? { type: "header", state: "missing", secret: auth.secret }
          : { type: auth.type, state: "unknown" },
    },
  };
}
