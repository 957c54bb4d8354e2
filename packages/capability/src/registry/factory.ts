// Factories: how a host says which kinds of capabilities there are. The registry looks one up and never asks what a
// kind means.

import type { AuthResolver } from "../auth/resolver.ts";
import type { Connector } from "../connector.ts";
import type { CapabilityRow } from "./capability-row.ts";

/** What a connector is made from. */
export type ConnectorRow = Pick<
  CapabilityRow,
  "id" | "kind" | "config" | "auth" | "namespace" | "description" | "file"
>;

export interface CapabilityFactory {
  readonly kind: string;
  /** Refuses (throws, with what to do instead) a configuration that no connector can be made from; answers it as it is stored. Does no I/O. */
  check?(config: ConnectorRow["config"]): ConnectorRow["config"] | Promise<ConnectorRow["config"]>;
  /**
   * Makes the connector; reaches no server yet where that can wait for `operations` or `call`. Its `namespace` and
   * `description` are read after `operations` has answered.
   */
  create(row: ConnectorRow, resolver: AuthResolver): Connector | Promise<Connector>;
}
