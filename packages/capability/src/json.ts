// JSON as this package sees it: it has no dependency, so it says so itself.

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

/** A JSON Schema, 2020-12 or draft 7, of an object where it describes an operation's input. */
export type JsonSchema = JsonObject;
