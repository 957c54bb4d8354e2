// What other rooms need to stand behind the door of a host with routes of their own.

export {
  type BugLog,
  guardedHeaders,
  json,
  noContent,
  pathOf,
  refusal,
  statusHeaders,
  tellBug,
} from "./answer.ts";
export type { Arrival, DoorBindings } from "./arrival.ts";
export { refuseCaged } from "./caged.ts";
export type { KnownToken, Visitors } from "./credentials.ts";
export { check, readCapped, readJson, readQuery } from "./body.ts";
export { createDoor, type Door, type DoorOptions, type DoorOwner, type Mount } from "./door.ts";
export { isEqual } from "./proof.ts";
export { demand, type Principal, type Right, rights, type Target } from "./rights.ts";
export { nameReader, withoutBody, wrongMethod } from "./route.ts";
export { type Source, type Stream, Streams } from "./streams.ts";
