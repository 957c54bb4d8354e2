// The names of a host: under which a request may come in, and for which of them the host vouches to who holds its token.
//
//   It vouches only for an address at which nobody else can listen: one that it is bound to, or one that its owner wrote
//   down with its port. `localhost` is none of them: it means 127.0.0.1 and ::1, and the host may have one of the two.

export interface NameOptions {
  /** The `host:port` pairs that the host listens as now. */
  readonly listensAs: () => Iterable<string>;
  /** Those of them that are the addresses it is bound to; left out where it knows of none. */
  readonly boundTo?: () => Iterable<string>;
  /** Names that stand in front: `name` for any port, or `name:port`. */
  readonly allowedHosts?: readonly string[];
  /** The address at which others reach this host. */
  readonly publicUrl?: string;
}

export interface Names {
  /** Whether a request with this `Host`, in small letters, is meant for this host. */
  admits(host: string): boolean;
  /** Whether who dials this `Host` can be told that it reaches this host and nobody else. */
  vouchesFor(host: string): boolean;
}

export function createNames(options: NameOptions): Names {
  const written = (options.allowedHosts ?? []).map((host) => host.toLowerCase());
  if (options.publicUrl !== undefined) written.push(new URL(options.publicUrl).host);
  const vouched = new Set(written.flatMap(addressesOf));
  const told = new Set([...written, ...vouched]);
  return {
    admits: (host) =>
      isAmong(options.listensAs(), host) ||
      told.has(host) ||
      told.has(host.replace(/:\d{1,5}$/, "")),
    vouchesFor: (host) => vouched.has(host) || isAmong(options.boundTo?.() ?? [], host),
  };
}

/** What a client dials that is given this name. */
function addressesOf(name: string): string[] {
  const port = /^localhost(:\d{1,5})?$/.exec(name);
  if (!port) return [name];
  // Without its port, localhost is whoever listens on this computer.
  return port[1] === undefined ? [] : [`127.0.0.1${port[1]}`, `[::1]${port[1]}`];
}

function isAmong(names: Iterable<string>, host: string): boolean {
  for (const name of names) if (name === host) return true;
  return false;
}
