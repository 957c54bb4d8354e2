// Machines elsewhere that this computer is paired with: `lichen pair <address>` keeps the key of each in a file of its own,
// which `--on` finds.
//
//   UP26  A key goes only to an address that has just proven to be the machine there, by that very key.

import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { challengeHost, type Connection, hostsDir, writePrivately } from "@lichen/server/node";
import { Claimed, Fault } from "@lichen/wire";
import { oneLine } from "../printable.ts";
import { commandName } from "../typed.ts";

export interface PairedMachine {
  /** `http://host:port`. */
  readonly url: string;
  readonly claimed: Claimed;
  /** Where this is kept. */
  readonly path: string;
}

const patienceMs = 5_000;

function pairedDir(): string {
  return join(hostsDir(), "paired");
}

export function keepPaired(url: string, claimed: Claimed): PairedMachine {
  mkdirSync(pairedDir(), { recursive: true, mode: 0o700 });
  const path = join(pairedDir(), `${encodeURIComponent(new URL(url).host)}.json`);
  writePrivately(path, `${JSON.stringify({ url, ...claimed })}\n`);
  return { url, claimed, path };
}

/** The paired machine that a word means: its address, its `host:port`, or its host where that is one alone. */
export function pairedAt(word: string): PairedMachine {
  const all = allPaired();
  const address = URL.parse(word)?.host;
  const meant = all.filter(({ url }) => {
    const { host, hostname } = new URL(url);
    return [host, hostname].includes(word) || host === address;
  });
  if (meant.length === 1) return meant[0]!;
  const known = (meant.length > 1 ? meant : all).map(({ url }) => new URL(url).host);
  throw new Fault(
    "invalid",
    meant.length > 1
      ? `--on: several machines are at ${oneLine(word, 100)}: say which: ${known.join(", ")}.`
      : `--on: this computer is paired with no machine at ${oneLine(word, 100)}${known.length === 0 ? "" : `, but with ${known.join(", ")}`}. ` +
          `\`${commandName()} pair\` on the machine shows an address, \`${commandName()} pair <address>\` here uses it.`,
  );
}

/** Has whoever listens there prove to be the machine before it is told the key. */
export async function connectPaired({ url, claimed }: PairedMachine): Promise<Connection> {
  const { key: token, device } = claimed;
  const heard = await challengeHost(url, { timeoutMs: patienceMs, device: device.id });
  if (heard.answer === "none") return { found: "none" };
  if (heard.answer !== "host" || (await heard.proof(token)) !== "vouched")
    return { found: "stranger", url };
  return { found: "host", url, token, status: heard.status };
}

function allPaired(): PairedMachine[] {
  let names: string[];
  try {
    names = readdirSync(pairedDir());
  } catch {
    // None was ever paired here.
    return [];
  }
  return names.filter((name) => name.endsWith(".json")).flatMap((name) => read(name));
}

function read(name: string): PairedMachine[] {
  const path = join(pairedDir(), name);
  try {
    const { url, ...rest } = JSON.parse(readFileSync(path, "utf8")) as { url: string };
    const { data } = Claimed.safeParse(rest);
    return data && URL.canParse(url) ? [{ url, claimed: data, path }] : [];
  } catch {
    // What cannot be read names no machine: pairing once more replaces it.
    return [];
  }
}
