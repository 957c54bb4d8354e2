export { Checkpoints } from "./checkpoint.ts";
export { networkFileSystemAt } from "./file-system.ts";
export { makeFolder, toSystemRefusal } from "./folder.ts";
export { inspectStore, type StoreState } from "./inspect.ts";
export { acquireLease, type Lease } from "./lease.ts";
export { nodePlatform } from "./platform.ts";
export { openSql, type SqlFile, type SqlOptions } from "./sql.ts";
export { type SalvagedSession, type SalvageReport, salvageStore } from "./salvage/salvage.ts";
export { isDamage, isHeld } from "./sqlite-refusal.ts";
