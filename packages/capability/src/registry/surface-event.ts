// What is told when what can be called has changed: once for each change, after it was committed.

/** A namespace is called something else from now on. */
export interface RenameNotice {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  /** For people and models: says both names. */
  readonly message: string;
}

export interface SurfaceEvent {
  /** Of the surface after the change. */
  readonly revision: number;
  /** SHA-256 of the surface without its revision, as hex: equal where the same can be called. */
  readonly digest: string;
  /** Ids of the capabilities that changed. */
  readonly changed: readonly string[];
  readonly notices: readonly RenameNotice[];
}

export function renameNotice(id: string, from: string, to: string): RenameNotice {
  return {
    id,
    from,
    to,
    message: `The namespace ${from} is called ${to} now: call ${to} instead.`,
  };
}
