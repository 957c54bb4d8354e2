// What a person has begun to write: the text of each session that is not shown, and the images of every one.

import { Attachments } from "./attachments.ts";

export interface Draft {
  text: string;
  readonly attachments: Attachments;
}

export class Drafts {
  readonly #all = new Map<string, Draft>();
  /** What was begun before the agent was reached. */
  #early: Draft | undefined = newDraft();

  /** The draft of a session; before one is shown, the one that its first session gets. */
  of(session: string | undefined): Draft {
    if (session === undefined) return (this.#early ??= newDraft());
    let draft = this.#all.get(session);
    if (draft === undefined) {
      draft = this.#early ?? newDraft();
      this.#early = undefined;
      this.#all.set(session, draft);
    }
    return draft;
  }

  isEmpty(session: string): boolean {
    const draft = this.#all.get(session);
    return draft === undefined || (draft.text === "" && draft.attachments.all.length === 0);
  }
}

function newDraft(): Draft {
  return { text: "", attachments: new Attachments() };
}
