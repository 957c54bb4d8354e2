// Cursors: where a reader stands in a stream, `<epoch>.<number>`.

import { Fault } from "@lichen/wire";

export interface Cursor {
  readonly epoch: string;
  readonly seq: number;
}

export function cursorOf(id: string): Cursor {
  const match = /^([A-Za-z0-9_-]{1,64})\.(0|[1-9]\d{0,14})$/.exec(id);
  if (!match)
    throw new Fault("invalid", "after: a cursor <epoch>.<seq>, the id of an earlier frame.");
  return { epoch: match[1]!, seq: Number(match[2]) };
}
