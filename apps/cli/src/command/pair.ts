// `lichen pair`: a device of the owner's, admitted by a code that this terminal shows.

import { onStopSignal } from "@lichen/server/node";
import { Fault, PairOffer, PairState } from "@lichen/wire";
import { renderUnicodeCompact } from "uqr";
import type { Input } from "../command.ts";
import { type ReachedMachine, reachMachine } from "../machine/reach-machine.ts";
import { oneLine } from "../printable.ts";
import type { Terminal } from "../terminal.ts";
import { commandName } from "../typed.ts";

const waitMs = 25_000;

export async function run(input: Input, terminal: Terminal): Promise<number> {
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
    `Scan it, or open the address on the device. Good for one device, until ${until}: it may then ` +
      (offer.kind === "owner" ? "do everything here." : "read, and change nothing."),
  );
  if (/^(127\.|localhost$|\[::1\]$)/.test(address.hostname))
    terminal.say(
      `The machine listens on this computer alone, so that no other device reaches ${address.host}. ` +
        `Start it where your devices reach it, such as \`${commandName()} up --bind <an address of your network>\`, or name what stands in front of it.`,
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
