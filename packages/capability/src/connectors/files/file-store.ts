// The seam to a folder of files: what a host does for the `files` kind. Nothing outside of the folder is reached through
// it, by whatever name, link or race.

/**
 * Paths are relative to the folder, of parts joined by `/`, none of them empty, `.` or `..`; the folder itself is "".
 * Rejects with an `OperationError`: `not_found`, `conflict` (it is there already, it changed meanwhile, it is not
 * empty), `denied`, `invalid_input`, `unavailable`.
 */
export interface FileStore {
  list(path: string): Promise<readonly FileEntry[]>;
  stat(path: string): Promise<FileStat>;
  /** At most `bytes` from `offset` on. */
  read(path: string, offset: number, bytes: number): Promise<FilePart>;
  /**
   * The whole content, whole or not at all; folders above it are made. `create` refuses what is there already; with
   * `version` the file must still be the one that had it.
   */
  write(path: string, content: Uint8Array, how: WriteHow): Promise<FileStat & { isNew: boolean }>;
  /** Also where it is there already; folders above it are made. */
  makeFolder(path: string): Promise<void>;
  /** A file or a folder; folders above `to` are made, and what is there is kept: `conflict`. */
  move(from: string, to: string): Promise<void>;
  /** A file or an empty folder. */
  remove(path: string): Promise<void>;
}

export interface FileEntry {
  readonly name: string;
  readonly kind: "file" | "folder" | "other";
}

export interface FileStat {
  readonly kind: "file" | "folder" | "other";
  /** In bytes. */
  readonly size: number;
  /** When it was last changed, in ms. */
  readonly changedAt: number;
  /** Another one after each change. */
  readonly version: string;
}

export interface FilePart extends FileStat {
  readonly bytes: Uint8Array;
}

export type WriteHow = { readonly create?: boolean; readonly version?: string };
