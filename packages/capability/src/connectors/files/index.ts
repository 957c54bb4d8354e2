export { createFilesConnector, type FilesConnectorOptions } from "./connector.ts";
export { type FilesConfig, filesFactory, readFilesConfig } from "./factory.ts";
export type { FileEntry, FilePart, FileStat, FileStore, WriteHow } from "./file-store.ts";
