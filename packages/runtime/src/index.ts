export type * from "./api.ts";
export type * from "./engine/port.ts";
export type { Platform } from "./platform.ts";
export type { Sql, SqlValue } from "./store/sql.ts";
