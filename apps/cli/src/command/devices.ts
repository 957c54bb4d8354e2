// `lichen devices`: the devices that may use this machine, and one of them sent away.

import { DeviceId, DeviceList, Fault } from "@lichen/wire";
import { type Input, UsageError } from "../command.ts";
import { type ReachedMachine, reachMachine } from "../machine/reach-machine.ts";
import { oneLine } from "../printable.ts";
import { ago, aligned } from "../session-line.ts";
import type { Terminal } from "../terminal.ts";
import { commandName } from "../typed.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const id = revoked(input);
  const machine = await reachMachine(input, terminal);
  try {
    return id === undefined
      ? await list(machine, input, terminal)
      : await revoke(id, machine, terminal);
  } finally {
    await machine.close();
  }
}

/** The device that is to go; undefined where they are listed. */
function revoked(input: Input): string | undefined {
  const action = input.argument("action");
  const id = input.argument("id");
  if (action === undefined) return undefined;
  if (action !== "revoke")
    throw new UsageError(
      `devices: does not know "${oneLine(action, 100)}": it takes revoke`,
      "devices",
    );
  if (id === undefined || !DeviceId.safeParse(id).success)
    throw new UsageError(
      `devices: revoke needs a device's id, which begins dev_: \`${commandName()} devices\` lists them`,
      "devices",
    );
  return id;
}

async function list(machine: ReachedMachine, input: Input, terminal: Terminal): Promise<number> {
  const { devices } = await machine.ask("/v1/devices", DeviceList);
  if (input.flag("json")) {
    terminal.answer(`${JSON.stringify(devices)}\n`);
    return 0;
  }
  const nowMs = Date.now();
  const rows = devices.map(({ id, name, kind, last_seen, peer }) => [
    id,
    oneLine(name, 64),
    kind,
    last_seen === null ? "never seen" : `seen ${ago(last_seen, nowMs)}`,
    peer === undefined ? "" : `by its mesh (${oneLine(peer, 60)})`,
  ]);
  for (const line of aligned(rows)) terminal.answer(`${line}\n`);
  if (rows.length === 0)
    terminal.say(`no devices yet; \`${commandName()} pair${machine.place}\` admits one`);
  return 0;
}

async function revoke(id: string, machine: ReachedMachine, terminal: Terminal): Promise<number> {
  const { devices } = await machine.ask("/v1/devices", DeviceList);
  const device = devices.find((it) => it.id === id);
  if (!device)
    throw new Fault(
      "unknown_entry",
      `There is no device ${id}: \`${commandName()} devices${machine.place}\` lists them.`,
    );
  await machine.tell(`/v1/devices/${id}`, { method: "DELETE" });
  terminal.answer(`${id}\n`);
  terminal.say(`${oneLine(device.name, 100)} is nobody here from now on`);
  return 0;
}
