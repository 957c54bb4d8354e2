export type { Connector } from "../connector.ts";
