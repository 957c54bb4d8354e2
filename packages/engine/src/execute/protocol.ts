// What a sandbox's thread and the host say to each other. Values of the guest cross as JSON text only.

/** A call as the code asked for it. */
export interface Ask {
  readonly ordinal: number;
  readonly namespace: string;
  readonly operation: string;
  readonly input?: string;
}

/** How a call ended, for the code. */
export type Outcome =
  | { readonly ok: true; readonly text?: string }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** How the code ended. */
export type Ending =
  | { readonly ok: true; readonly text?: string }
  | { readonly ok: false; readonly reason: "error" | "limit"; readonly message: string };

export type Names = Readonly<Record<string, readonly string[]>>;

export interface Beginning {
  readonly seed: string;
  /** The guest's clock, in ms. */
  readonly clock: number;
  readonly names: Names;
}

export type ToSandbox =
  | ({ readonly type: "start"; readonly code: string } & Beginning)
  | ({ readonly type: "restore"; readonly bytes: Uint8Array } & Beginning)
  | {
      readonly type: "deliver";
      readonly ordinal: number;
      readonly outcome: Outcome;
      readonly clock: number;
    }
  | { readonly type: "snapshot" }
  | { readonly type: "end" };

export type FromSandbox =
  | { readonly type: "ready" }
  | { readonly type: "printed"; readonly text: string }
  /** The guest has nothing more to do until an outcome comes; `asks` are the calls that it made meanwhile. */
  | {
      readonly type: "step";
      readonly asks: readonly Ask[];
      readonly calls: number;
      readonly ending?: Ending;
    }
  /** The guest as it was left: `asks` are all calls that are open, `printed` all that was printed. */
  | {
      readonly type: "restored";
      readonly asks: readonly Ask[];
      readonly calls: number;
      readonly printed: string;
    }
  | { readonly type: "unrestorable" }
  | { readonly type: "snapshot"; readonly bytes?: Uint8Array };

export interface SandboxData {
  readonly module: WebAssembly.Module;
  readonly limits: {
    readonly heapBytes: number;
    readonly printedBytes: number;
    readonly snapshotBytes: number;
  };
  /** One number: not 0 says that the guest is to stop. */
  readonly stop: Int32Array<SharedArrayBuffer>;
  /** One number: how many messages the host has sent, so that a thread can wait for the next one. */
  readonly sent: Int32Array<SharedArrayBuffer>;
}
