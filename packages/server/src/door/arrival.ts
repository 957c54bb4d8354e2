// How a request reached the host, as its listener knows it: no header has a say in it.

import type { Principal } from "./rights.ts";

export interface Arrival {
  /** The address it comes from and the one it came to, as the system writes them; none on a socket of this computer. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Who it is by the line itself: a socket that only one session's processes can reach. */
  readonly principal?: Principal;
  /** Ends the connection at once, with all that is under way on it. */
  hangUp(): void;
  /** Calls back once the answer is over, whichever way it ends; at once where it is. */
  ended(then: () => void): void;
}

/** What a listener hands to a door beside a request. */
export interface DoorBindings {
  readonly arrival?: Arrival;
}
