// What stands between the conversation and the editor while a person is asked or chooses: one at a time.

import type { Component, Focusable } from "@earendil-works/pi-tui";

export interface Panel extends Component, Focusable {
  handleInput(data: string): void;
}

/** The rows that a panel may take on a screen of this height: the conversation stays in sight. */
export function panelRows(screenRows: number): number {
  return Math.max(3, Math.floor(screenRows * 0.6) - 2);
}
