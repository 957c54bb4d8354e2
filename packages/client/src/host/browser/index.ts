export { indexedDbStorage, type IndexedDbStorageOptions } from "./indexed-db-storage.ts";
