// What the shown session waits for: which approval is put to the person, and who has the keys meanwhile.
//
//   An approval takes no key until a person gives it the keys, with tab; and keeps none when it goes. So no key that was
//   meant for a message, a list or another approval ever answers one.

import type { View } from "@lichen/client";
import type { Approval } from "@lichen/wire";
import type { Panel } from "./panel/panel.ts";

export interface AskingOptions {
  /** Makes the panel of an approval. `show` replaces it while the approval is open. */
  readonly panel: (approval: Approval, show: (panel: Panel) => void) => Panel;
  /** Makes what stands where a person was about to answer what was decided meanwhile. */
  readonly gone: (goOn: () => void) => Panel;
  /** Told when another panel is to be shown, or the keys moved. */
  readonly changed: () => void;
}

interface Open {
  /** Undefined for what is gone. */
  readonly approvalId: string | undefined;
  panel: Panel;
}

export class Asking {
  readonly #options: AskingOptions;
  #open: Open | undefined;
  #hasFocus = false;
  /** The approval that was answered here: it goes as soon as the host tells so. */
  #answered: string | undefined;

  constructor(options: AskingOptions) {
    this.#options = options;
  }

  get panel(): Panel | undefined {
    return this.#open?.panel;
  }

  get hasFocus(): boolean {
    return this.#open !== undefined && this.#hasFocus;
  }

  /** Puts the first approval that is open and not answered here. */
  update(view: View | undefined): void {
    const pending = view?.approvals.filter(({ state }) => state === "pending") ?? [];
    const next = pending.find(({ approvalId }) => approvalId !== this.#answered);
    const open = this.#open;
    if (open !== undefined && isAmong(pending, open)) return;
    if (open !== undefined && this.#hasFocus && view !== undefined) {
      if (open.approvalId !== undefined)
        this.#put(undefined, () => this.#options.gone(() => this.#close()));
      return;
    }
    if (next === undefined && open === undefined) return;
    this.#hasFocus = false;
    if (next === undefined) this.#open = undefined;
    else this.#put(next.approvalId, (show) => this.#options.panel(next, show));
    this.#options.changed();
  }

  /** Gives the keys to what is asked; answers whether something is. */
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

  /** The host took the answer that was given here. */
  answered(approvalId: string): void {
    this.#answered = approvalId;
    if (this.#open?.approvalId === approvalId) this.#close();
  }

  /** What is asked next comes with the next update. */
  #close(): void {
    this.#open = undefined;
    this.#hasFocus = false;
    this.#options.changed();
  }

  #put(approvalId: string | undefined, make: (show: (panel: Panel) => void) => Panel): void {
    const show = (panel: Panel): void => {
      if (this.#open !== open) return;
      open.panel = panel;
      this.#options.changed();
    };
    const open: Open = { approvalId, panel: make(show) };
    this.#open = open;
    this.#options.changed();
  }
}

function isAmong(pending: readonly Approval[], { approvalId }: Open): boolean {
  return pending.some((approval) => approval.approvalId === approvalId);
}
