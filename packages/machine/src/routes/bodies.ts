// Bodies and queries of the machine API's session routes, as strict schemas: what they do not know is refused by name.

import { JsonObject, PromptText } from "@lichen/wire";
import * as z from "zod";

/** A setting of a room that is yet to come: the value that it has without it. */
const notYet = <T extends z.util.Literal>(name: string, value: T) =>
  z
    .literal(value, `${name}: this machine has nothing of the kind yet: leave it out`)
    .exactOptional();
const noneYet = (name: string) =>
  z
    .array(z.string())
    .max(0, `${name}: this machine has nothing of the kind yet: leave it out`)
    .exactOptional();

const model = z.string().min(1).max(256);

/** Of a session that continues a conversation the directory may be left out: it is the conversation's. */
export const CreateBody = z.strictObject({
  name: z.string(),
  dir: z.string().max(4_096).exactOptional(),
  resume: z.string().min(1).max(256).exactOptional(),
  harness: z.string().exactOptional(),
  command: z.array(z.string().min(1).max(4_096)).max(64).exactOptional(),
  model: model.exactOptional(),
  auto_approve: z.boolean().exactOptional(),
  keep_running: z.boolean().exactOptional(),
  cage: notYet("cage", null),
});

export const SettingsBody = z.strictObject({
  auto_approve: z.boolean().exactOptional(),
  keep_running: z.boolean().exactOptional(),
  starred: z.boolean().exactOptional(),
  /** null: the harness's own. */
  model: model.nullable().exactOptional(),
  accept_caged: notYet("accept_caged", false),
  accept_caged_from: noneYet("accept_caged_from"),
  accept_files_from: noneYet("accept_files_from"),
  meshes: noneYet("meshes"),
  fresh_by_agents: notYet("fresh_by_agents", false),
  // Not settings: whoever is named has nothing more waiting here, and nobody has on this machine.
  decline_tasks_from: z.string().exactOptional(),
  ignore_file_request: z.string().exactOptional(),
});

export const RenameBody = z.strictObject({ name: z.string() });

export const CageBody = z.strictObject({ cage: JsonObject.nullable() });

/** Ids are made on devices; ours come before them. */
export const MessageBody = z.strictObject({
  text: PromptText,
  id: z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, "id: 1 to 200 characters, no spaces")
    .exactOptional(),
});

export const PromptBody = z.strictObject({
  allow: z.boolean(),
  message: PromptText.exactOptional(),
  answers: JsonObject.exactOptional(),
  input: JsonObject.exactOptional(),
  always: z.boolean().exactOptional(),
  interrupt: z.boolean().exactOptional(),
});

const count = (name: string, least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,16}$/, `${name}: a whole number`)
    .transform(Number)
    .pipe(z.int().min(least).max(most));

const eventNumber = (name: string) => count(name, 0, Number.MAX_SAFE_INTEGER);

/** More lines than are kept are as many as are kept. */
export const ListQuery = z.strictObject({ tail: count("tail", 0, 1_000_000).exactOptional() });
export const EventsQuery = z.strictObject({
  after: eventNumber("after").exactOptional(),
  tail: eventNumber("tail").exactOptional(),
  /** Of the log that `after` is a number of: another log is told from its beginning. */
  epoch: z.string().max(64).exactOptional(),
});
export const LastEventId = eventNumber("Last-Event-ID");
export const NoQuery = z.strictObject({});
/** Of a machine that has no tasks it says nothing. */
export const TasksQuery = z.strictObject({ session: z.string().exactOptional() });
