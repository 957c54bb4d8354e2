// The wall around an agent's processes: under bubblewrap they see the machine as their user does, except for the
// host's own places (state, credentials, other agents), other processes, and the sockets by which a program outside
// could be told to run something.
//
// Whether bubblewrap works is found by running it, once per opened sandbox. Where it does not, nothing hides those
// places from a process of the same user, and `kind` and `reason` say so.
//
// What the wall does not stop: programs outside that the network or an abstract socket reaches (ssh to this machine with
// a key the user has), and files that something outside runs later and that are not named read-only (a shell's profile,
// another agent's folder).

import { spawn } from "node:child_process";
import { accessSync, constants, mkdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { Fault } from "@lichen/wire";
import { standsForNothing } from "./placeholders.ts";
import { isWritable } from "./places.ts";
import { ReadOnlyBinds } from "./read-only-binds.ts";

export interface SandboxOptions {
  /** `require` refuses to go on without bubblewrap; `auto` goes on and says so. */
  readonly mode: "auto" | "require" | "off";
  /**
   * Folders to hide. One that does not exist is made, so that nobody else can take its place. A file can be hidden too,
   * but not what is made beside it later (a store's journal), so name its folder.
   */
  readonly mask: readonly string[];
  /**
   * Files and folders to hide while they are there, and to keep from being made while they are not, as each command
   * finds them.
   */
  readonly hide?: readonly string[];
  /** Where the agent works; must not lie in a mask. */
  readonly cwd: string;
  /** The bubblewrap program: a name on PATH or an absolute path. */
  readonly program?: string;
}

export interface Sandbox {
  readonly kind: "bubblewrap" | "none";
  /** Why there is no wall. */
  readonly reason?: string;
  /** What runs `argv` in the sandbox; `argv` itself where there is none. */
  wrap(argv: readonly string[], options: WrapOptions): Wrapped;
}

interface WrapOptions {
  readonly cwd: string;
  /** Absolute paths that may be read and neither changed, made nor moved: the code that a host runs outside. */
  readonly readOnly?: readonly string[];
  /**
   * The same for what has no part in the work: real paths of what is there. Kept as it is found, so that nobody's own
   * links and second names in it keep a command from running.
   */
  readonly guarded?: readonly string[];
  /** Folders within hidden ones that this command is to see and not change: they hold what is its own. */
  readonly shown?: readonly string[];
  /** The command is started in its directory, or below it, and stays where it is. */
  readonly isThere?: boolean;
}

export interface Wrapped {
  readonly argv: readonly string[];
  /** To be called once nothing of the command runs any more. */
  release(): void;
}

interface Mask {
  readonly path: string;
  readonly place: string;
  readonly identity: string;
  readonly isFolder: boolean;
}

const installHint =
  "Install bubblewrap (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap; Arch: pacman -S bubblewrap).";

export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  if (options.mode === "off") return noSandbox("The sandbox is switched off.");
  const masks = options.mask.map(openMask);
  refuseInside(options.cwd, masks);
  const found = await detect(options.program ?? "bwrap");
  if ("reason" in found) {
    if (options.mode === "auto") return noSandbox(found.reason);
    throw new Fault("unavailable", `The sandbox is required and cannot be had: ${found.reason}`);
  }
  const binds = new ReadOnlyBinds();
  const { hide = [] } = options;
  return {
    kind: "bubblewrap",
    wrap: (argv, { cwd, readOnly = [], guarded = [], shown = [], isThere = false }) => {
      masks.forEach(refuseMoved);
      const place = realpathSync(cwd);
      const reachable = hide.filter(isReachable);
      const absent = reachable.filter((path) => !exists(path) || standsForNothing(path));
      const present = reachable.filter((path) => !absent.includes(path));
      refuseInside(cwd, [...masks, ...present.map((path) => ({ path, ...hiddenAt(path) }))]);
      const show = (it: Hidden): Hidden => ({
        ...it,
        shown: shown.filter((path) => isInside(path, it.place)),
      });
      const closed = [...[...masks, ...present.map(hiddenAt)].map(show), ...commandSockets(cwd)];
      const standing = binds.hold(absent, place, placesOf(closed));
      try {
        // What is put into such a folder while the command runs is not seen by it either.
        closed.push(...absent.filter(exists).map(hiddenAt).map(show));
        const kept = [...readOnly, ...standing.places, realpathSync(found.program)];
        const held = binds.hold(kept, place, placesOf(closed));
        const mounts = mountsOf(closed, [...held.places, ...guarded]);
        const chdir = isThere ? [] : ["--chdir", cwd];
        const options = [...base, ...mounts, ...privileges(), ...chdir];
        const release = () => {
          held.release();
          standing.release();
        };
        return { argv: [found.program, ...options, "--", ...argv], release };
      } catch (error) {
        standing.release();
        throw error;
      }
    },
  };
}

const base = [
  ...["--bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
  ...["--unshare-pid", "--die-with-parent", "--new-session"],
];

function noSandbox(reason: string): Sandbox {
  return { kind: "none", reason, wrap: (argv) => ({ argv, release: () => undefined }) };
}

function openMask(path: string): Mask {
  if (!isAbsolute(path)) throw new Fault("invalid", `The hidden path ${path} must be absolute.`);
  try {
    if (!statSync(path, { throwIfNoEntry: false }))
      mkdirSync(path, { recursive: true, mode: 0o700 });
    const place = realpathSync(path);
    const found = statSync(place);
    return { path, place, identity: identityOf(found), isFolder: found.isDirectory() };
  } catch (error) {
    throw new Fault(
      "unavailable",
      `The path ${path} cannot be hidden from agents: it can be neither found nor made.`,
      {
        cause: error,
      },
    );
  }
}

/** A mask that was moved or replaced would hide the wrong thing. */
function refuseMoved(mask: Mask): void {
  const found = statSync(mask.path, { throwIfNoEntry: false });
  if (found && identityOf(found) === mask.identity && realpathSync(mask.path) === mask.place)
    return;
  throw new Fault(
    "unavailable",
    `${mask.path} was moved or replaced while agents were running; nothing is run until the host is started again.`,
  );
}

function refuseInside(cwd: string, masks: readonly Pick<Mask, "path" | "place">[]): void {
  const place = realpathSync(cwd);
  for (const mask of masks)
    if (isInside(place, mask.place))
      throw new Fault(
        "invalid",
        `The working directory ${cwd} lies in ${mask.path}, which is hidden from agents. Choose another directory for one of them.`,
      );
}

interface Hidden {
  readonly place: string;
  readonly isFolder: boolean;
  /** What stays to be seen in a hidden folder. */
  readonly shown?: readonly string[];
}

function placesOf(closed: readonly Hidden[]): string[] {
  return closed.map(({ place }) => place);
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Where this user cannot even look, an agent cannot either. */
function isReachable(path: string): boolean {
  try {
    statSync(path, { throwIfNoEntry: false });
    return true;
  } catch {
    return false;
  }
}

function hiddenAt(path: string): Hidden {
  const place = realpathSync(path);
  return { place, isFolder: statSync(place).isDirectory() };
}

/**
 * Options that hide some places and bind others read-only, and keep every folder above one from being renamed away
 * under it. Within a read-only place nothing can be renamed, and a bind there would be writable again.
 */
function mountsOf(places: readonly Hidden[], readOnly: readonly string[]): string[] {
  const outermost = places.filter(
    ({ place }) => !places.some((other) => other.place !== place && isInside(place, other.place)),
  );
  const mounted = [...outermost.map(({ place }) => place), ...readOnly];
  const pinned = [...new Set(mounted.flatMap(renamableAbove))]
    .filter((folder) => !readOnly.some((place) => isInside(folder, place)))
    .toSorted((a, b) => a.length - b.length);
  return [
    ...pinned.flatMap((folder) => ["--bind", folder, folder]),
    ...readOnly.flatMap((place) => ["--ro-bind", place, place]),
    ...outermost.flatMap(hidden),
  ];
}

function hidden({ place, isFolder, shown = [] }: Hidden): string[] {
  if (!isFolder) return ["--ro-bind", "/dev/null", place];
  const kept = shown.flatMap((path) => ["--ro-bind-try", path, path]);
  return ["--tmpfs", place, ...kept, "--remount-ro", place];
}

/** The folders above a path that this user could rename. A mount point cannot be renamed. */
function renamableAbove(place: string): string[] {
  const folders: string[] = [];
  for (let folder = dirname(place); folder !== dirname(folder); folder = dirname(folder))
    if (isWritable(dirname(folder))) folders.push(folder);
  return folders;
}

/** Sockets of programs outside that run what they are told: service managers, the message buses, terminals, container engines. */
function commandSockets(cwd: string): Hidden[] {
  const user = process.getuid?.() ?? 0;
  return [
    `/run/user/${user}`,
    "/run/systemd",
    "/run/dbus",
    `/tmp/tmux-${user}`,
    "/run/screen",
    "/run/docker.sock",
    "/run/podman",
    "/run/containerd",
    "/run/crio",
    "/run/libvirt",
    "/run/snapd.socket",
  ].flatMap((path) => {
    if (!isReachable(path) || !exists(path)) return [];
    if (isInside(realpathSync(cwd), realpathSync(path))) return [];
    // The file that says how names are resolved often stands among the service manager's.
    const shown = path === "/run/systemd" ? [join(path, "resolve")] : [];
    return [{ ...hiddenAt(path), shown }];
  });
}

/**
 * Root keeps what working on files needs, and loses what could take the wall down: mounting, tracing, raw devices. The
 * kernel's settings ask for no capability, only for a file that root may write, so those files are read-only.
 */
function privileges(): string[] {
  if (process.getuid?.() !== 0) return [];
  const kept = [
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "NET_BIND_SERVICE",
  ];
  return [
    ...["--ro-bind", "/sys", "/sys", "--remount-ro", "/proc"],
    ...["--cap-drop", "ALL"],
    ...kept.flatMap((name) => ["--cap-add", `CAP_${name}`]),
  ];
}

async function detect(program: string): Promise<{ program: string } | { reason: string }> {
  if (process.platform !== "linux")
    return { reason: `bubblewrap exists on Linux only, and this is ${process.platform}.` };
  const path = isAbsolute(program) ? program : onPath(program);
  if (!path || !isExecutable(path)) return { reason: `bubblewrap was not found. ${installHint}` };
  const trial = await outcomeOf(path, [...base, ...privileges(), "--", "true"]);
  return trial === undefined
    ? { program: path }
    : { reason: `bubblewrap does not work here: ${trial}` };
}

/** Undefined where the program succeeds, else what it says. */
function outcomeOf(program: string, argv: readonly string[]): Promise<string | undefined> {
  const { promise, resolve: settle } = Promise.withResolvers<string | undefined>();
  const child = spawn(program, argv, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
    timeout: 10_000,
    killSignal: "SIGKILL",
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(0, 500);
  });
  child.on("error", (error) => settle(error.message));
  child.on("close", (code) =>
    settle(code === 0 ? undefined : said.trim() || `it ended with ${code}`),
  );
  return promise;
}

/** The system's own comes first: an agent could put a program of that name into a folder of its user's on PATH. */
function onPath(program: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  return ["/usr/bin", "/bin", ...folders].map((folder) => join(folder, program)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}
