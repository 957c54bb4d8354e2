// The surface: what is attached, as what can be called. A pure value; the same rows give the same surface.

import type { Operation } from "../operation.ts";

export interface Surface {
  /** Rises by one with each change of what can be called. */
  readonly revision: number;
  /** By namespace, in alphabetical order. */
  readonly namespaces: readonly SurfaceNamespace[];
  /** Namespaces of before, and what they are called now. */
  readonly renamed: Readonly<Record<string, string>>;
}

export interface SurfaceNamespace {
  /** A JavaScript identifier, unique on the surface: `github`. */
  readonly name: string;
  /** Of the capability. */
  readonly id: string;
  readonly kind: string;
  /** The key that grants name. */
  readonly grant: string;
  readonly description: string;
  readonly operations: readonly SurfaceOperation[];
}

export interface SurfaceOperation extends Operation {
  /** A JavaScript identifier, unique in its namespace; what code calls. `name` is the connector's own. */
  readonly property: string;
}
