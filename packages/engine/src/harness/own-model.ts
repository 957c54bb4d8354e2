// The model that a conversation of a harness has of its own. It stands in the log for as long as the conversation is set
// to another, so that a session whose model is cleared goes back to it, whichever process goes on with the conversation.

import type { EngineHost } from "@lichen/runtime";

export class OwnModel {
  readonly #host: Pick<EngineHost, "harness" | "record">;

  constructor(host: Pick<EngineHost, "harness" | "record">) {
    this.#host = host;
  }

  /** Its name, while the conversation is set to another. */
  get name(): string | undefined {
    return this.#host.harness().conversation?.ownModel;
  }

  /** The conversation is about to be set to another model than `current`, which is its own where none is kept. */
  async leaving(current: string | undefined): Promise<void> {
    if (this.name === undefined && current !== undefined) await this.#keep({ ownModel: current });
  }

  /** The conversation has its own again. */
  async regained(): Promise<void> {
    if (this.name !== undefined) await this.#keep({});
  }

  async #keep(own: { readonly ownModel?: string }): Promise<void> {
    const { conversation } = this.#host.harness();
    if (!conversation) return;
    const { id, file } = conversation;
    const data = { conversation: id, ...(file === undefined ? {} : { file }), ...own };
    await this.#host.record([{ kind: "harness.conversation", data }]);
  }
}
