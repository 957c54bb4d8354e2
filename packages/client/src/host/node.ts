export { fileStorage, type FileStorageOptions } from "./file-storage.ts";
