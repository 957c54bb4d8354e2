// Which file systems a store may lie on: SQLite's WAL and locks need memory and locks shared by all its readers,
// which network file systems do not give.

import { readFile, realpath, statfs } from "node:fs/promises";
import { Fault } from "@lichen/wire";

/** Linux `statfs` types, by name. */
const networkTypes = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB"],
  [0x5346414f, "AFS"],
  [0x6b414653, "AFS"],
  [0x73757245, "Coda"],
  [0x564c, "NCP"],
  [0x00c36400, "Ceph"],
  [0x0bd00bd0, "Lustre"],
  [0x19830326, "BeeGFS"],
]);
const fuse = 0x65735546;
const networkFuse =
  /^fuse\.(sshfs|rclone|s3fs|gcsfuse|goofys|glusterfs|davfs|curlftpfs|juicefs|cephfs|ceph-fuse|mount-s3|smbnetfs|gvfsd-fuse)/;

/**
 * The network file system that `folder` lies on, or undefined. `type` is what `statfs` says; behind FUSE can be
 * anything, so there the mount table (`/proc/self/mountinfo`) decides.
 * @internal Exported for its tests.
 */
export function networkFileSystem(
  type: number,
  folder: string,
  mounts: string,
): string | undefined {
  if (type !== fuse) return networkTypes.get(type);
  let nearest = { point: "", name: "" };
  for (const line of mounts.split("\n")) {
    const [left = "", right = ""] = line.split(" - ");
    const point = (left.split(" ")[4] ?? "").replace(/\\040/g, " ");
    const holds = point === "/" || folder === point || folder.startsWith(`${point}/`);
    if (point !== "" && holds && point.length >= nearest.point.length)
      nearest = { point, name: right.split(" ")[0] ?? "" };
  }
  return networkFuse.test(nearest.name) ? nearest.name : undefined;
}

/** The network file system that a folder lies on. The types are Linux's; elsewhere none is known. */
export async function networkFileSystemAt(folder: string): Promise<string | undefined> {
  if (process.platform !== "linux") return undefined;
  const real = await realpath(folder).catch(() => undefined);
  // A folder that is not there is what SQLite itself will say.
  if (real === undefined) return undefined;
  const { type } = await statfs(real);
  const unsigned = type >>> 0;
  const mounts = unsigned === fuse ? await readFile("/proc/self/mountinfo", "utf8") : "";
  return networkFileSystem(unsigned, real, mounts);
}

/** Refuses a store whose folder lies on a network file system. */
export async function refuseNetworkFileSystem(folder: string, label: string): Promise<void> {
  const name = await networkFileSystemAt(folder);
  if (name === undefined) return;
  throw new Fault(
    "unreadable",
    `the store ${label} would lie on a network file system (${name}), where SQLite loses data: choose a folder on a local disk`,
  );
}
