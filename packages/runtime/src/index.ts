export type * from "./api.ts";
export type { MetaRules, StandardSchema } from "./admission/meta.ts";
export type { CapabilityOptions } from "./capability/capability-host.ts";
export type * from "./engine/port.ts";
export type * from "./engine/program.ts";
export { type AgentOptions, openOwner, Owner, type OwnerOptions } from "./owner.ts";
export type { AccessRules } from "./session/grants.ts";
export type { Platform } from "./platform.ts";
export type { Sql, SqlValue } from "./store/sql.ts";
