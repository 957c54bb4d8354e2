// What the shown session waits for: which approval is put to the person, and who has the keys meanwhile.
//
//   A question that comes up while somebody types takes no key from them: it is answered after tab.

import type { View } from "@lichen/client";
import type { Approval } from "@lichen/wire";
import type { Panel } from "./panel/panel.ts";

export interface AskingOptions {
  /** Makes the panel of an approval. `show` replaces it while the approval is open. */
  readonly panel: (approval: Approval, show: (panel: Panel) => void) => Panel;
  readonly isTyping: () => boolean;
  /** Told when another panel is to be shown, or the focus moved. */
  readonly changed: () => void;
}

export class Asking {
  readonly #options: AskingOptions;
  #open: { readonly approvalId: string; panel: Panel } | undefined;
  #hasFocus = false;

  constructor(options: AskingOptions) {
    this.#options = options;
  }

  get panel(): Panel | undefined {
    return this.#open?.panel;
  }

  get hasFocus(): boolean {
    return this.#open !== undefined && this.#hasFocus;
  }

  /** Puts the first approval that is open; one that is no longer goes. */
  update(view: View | undefined): void {
    const pending = view?.approvals.filter(({ state }) => state === "pending") ?? [];
    if (this.#open && pending.some(({ approvalId }) => approvalId === this.#open!.approvalId))
      return;
    const [next] = pending;
    if (next === undefined) {
      if (this.#open === undefined) return;
      this.#open = undefined;
      this.#hasFocus = false;
    } else {
      const { approvalId } = next;
      const show = (panel: Panel): void => {
        if (this.#open?.approvalId !== approvalId) return;
        this.#open.panel = panel;
        this.#options.changed();
      };
      // A second question finds the keys where the first one left them.
      if (this.#open === undefined) this.#hasFocus = !this.#options.isTyping();
      this.#open = { approvalId, panel: this.#options.panel(next, show) };
    }
    this.#options.changed();
  }

  focus(): boolean {
    if (this.#open === undefined) return false;
    this.#hasFocus = true;
    this.#options.changed();
    return true;
  }

  leave(): void {
    this.#hasFocus = false;
    this.#options.changed();
  }
}
