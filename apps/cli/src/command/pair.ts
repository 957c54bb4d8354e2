// `lichen pair`: a device of the owner's, admitted by a code that this terminal shows; or, with the address that a machine
// elsewhere shows, this computer as its device.

import { hostname } from "node:os";
import { onStopSignal } from "@lichen/server/node";
import { Claimed, type ClaimRequest, Fault, PairOffer, PairState } from "@lichen/wire";
import { renderUnicodeCompact } from "uqr";
import { type Input, UsageError } from "../command.ts";
import { keepPaired } from "../machine/paired.ts";
import { type ReachedMachine, reachMachine, refusalOf } from "../machine/reach-machine.ts";
import { oneLine } from "../printable.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, quoted } from "../typed.ts";

const waitMs = 25_000;
const claimMs = 15_000;

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const address = input.argument("address");
  if (address !== undefined) return become(address, input, terminal);
  const machine = await reachMachine(input, terminal);
  const stop = new AbortController();
  const ignoreSignals = onStopSignal(() => stop.abort());
  try {
    const name = input.value("name");
    const kind = input.flag("viewer") ? "viewer" : "owner";
    const offer = await machine.ask("/v1/pair", PairOffer, {
      method: "POST",
      body: { kind, ...(name === undefined ? {} : { name }) },
    });
    show(offer, input, terminal);
    const state = await claimed(machine, offer.id, stop.signal);
    return tell(state, input, terminal, machine);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    terminal.say("the code is taken back");
    return 130;
  } finally {
    ignoreSignals();
    await machine.close();
  }
}

/** This computer becomes a device of the machine that showed the address. */
async function become(address: string, input: Input, terminal: Terminal): Promise<number> {
  const { origin, pathname, hash } = URL.parse(address) ?? {};
  if (origin === undefined || !origin.startsWith("http") || pathname !== "/pair" || hash === "")
    throw new UsageError(
      "pair: that is no address of a pairing: take the whole line that `lichen pair` shows on the machine, in quotes",
      "pair",
    );
  const stray = ["state", "viewer"].find((it) => input.flag(it) || input.value(it) !== undefined);
  if (stray !== undefined)
    throw new UsageError(`pair: --${stray} is said on the machine, not with its address`, "pair");
  const code = (hash ?? "").slice(1);
  const claimed = await claim(origin, { code, name: input.value("name") ?? hostname() });
  const kept = keepPaired(origin, claimed);
  const { host } = new URL(kept.url);
  if (input.flag("json")) terminal.answer(`${JSON.stringify(claimed.device)}\n`);
  else {
    terminal.answer(`${host}\n`);
    terminal.say(
      `this computer is ${oneLine(claimed.device.name, 100)} there, and may ${claimed.device.kind === "owner" ? "do everything" : "read"}. Look:\n  ${commandName()} ps --on ${quoted(host)}`,
    );
  }
  return 0;
}

async function claim(origin: string, body: ClaimRequest): Promise<Claimed> {
  let answer: Response;
  try {
    answer = await fetch(new URL("/v1/pair/claim", origin), {
      method: "POST",
      redirect: "error",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(claimMs),
    });
  } catch (cause) {
    throw new Fault(
      "unavailable",
      `Nothing answers at ${origin}: see that the machine runs there and that this computer reaches it.`,
      { retryable: false, cause },
    );
  }
  if (!answer.ok) throw await refusalOf(answer);
  const { data } = Claimed.safeParse(await answer.json().catch(() => undefined));
  if (data) return data;
  throw new Fault("unavailable", `What answers at ${origin} is no machine of Lichen.`, {
    retryable: false,
  });
}

/** The code stands in no list and no log: whoever reads this terminal may use it. */
function show(offer: PairOffer, input: Input, terminal: Terminal): void {
  if (input.flag("json")) {
    terminal.answer(`${JSON.stringify(offer)}\n`);
    return;
  }
  const address = new URL(offer.url);
  terminal.answer(`${renderUnicodeCompact(offer.url, { border: 2 })}\n\n${offer.url}\n`);
  const until = new Date(offer.expires_at).toLocaleTimeString();
  terminal.say(
    `Scan it, or open the address on the device; on another computer: ${commandName()} pair "<the address>". Good for one device, until ${until}: it may then ` +
      (offer.kind === "owner" ? "do everything here." : "read, and change nothing."),
  );
  if (/^(127\.|localhost$|\[::1\]$)/.test(address.hostname))
    terminal.say(
      `No other device reaches ${address.host}: the machine listens on this computer alone. ` +
        `Start it where your devices reach it, \`${commandName()} up --bind <an address of your network>\`, or with the address of what ` +
        `stands in front of it, \`${commandName()} up --public-url <https://…>\`.`,
    );
}

/** Settles once the code was used, or is over; Ctrl-C takes it back. */
async function claimed(
  machine: ReachedMachine,
  id: string,
  signal: AbortSignal,
): Promise<PairState> {
  const path = `/v1/pair/${encodeURIComponent(id)}`;
  try {
    for (;;) {
      const state = await machine.ask(`${path}?timeout_ms=${waitMs}`, PairState, { signal });
      if (state.state !== "waiting") return state;
    }
  } catch (error) {
    if (signal.aborted) await machine.tell(path, { method: "DELETE" });
    throw error;
  }
}

function tell(
  { state, device, from }: PairState,
  input: Input,
  terminal: Terminal,
  machine: ReachedMachine,
): number {
  if (state === "ended" || device === undefined)
    throw new Fault("unavailable", "The code ran out and nobody used it: run this again.", {
      retryable: false,
    });
  if (input.flag("json")) terminal.answer(`${JSON.stringify(device)}\n`);
  else
    terminal.say(
      `${oneLine(device.name, 100)} is paired${from === undefined ? "" : `, from ${from}`}. If that is not yours:\n` +
        `  ${commandName()} devices revoke ${device.id}${machine.place}`,
    );
  return 0;
}
