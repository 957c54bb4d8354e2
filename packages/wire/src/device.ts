// The shapes of devices, pairing and meshes on a machine: what its owner's other devices may do, and who is near.

import * as z from "zod";

/** `dev_…`, issued when a device is admitted. */
export const DeviceId = z
  .string()
  .regex(/^dev_[A-Za-z0-9_-]{1,64}$/, "device: an id that starts dev_");

/** An owner's device does everything that the owner's token does; a viewer reads. */
export const DeviceKind = z.enum(["owner", "viewer"]);
export type DeviceKind = z.infer<typeof DeviceKind>;

/** What a device is called: at most 64 characters. What may be in it is the machine's to say. */
const name = z.string().max(256);

export const Device = z.object({
  id: DeviceId,
  name,
  kind: DeviceKind,
  created: z.string(),
  /** Null before its first request; else up to a few seconds behind. */
  last_seen: z.string().nullable(),
  /** The stable key of the mesh peer that it is, where a mesh's proof is its credential: `<provider>:<key>`. */
  peer: z.string().exactOptional(),
});
export type Device = z.infer<typeof Device>;

export const DeviceList = z.object({ devices: z.array(Device) });
export type DeviceList = z.infer<typeof DeviceList>;

export const DeviceChange = z.strictObject({
  name: name.exactOptional(),
  kind: DeviceKind.exactOptional(),
});
export type DeviceChange = z.infer<typeof DeviceChange>;

/** Makes a mesh peer a device. `peer` is the `id` that `GET /v1/peers` tells. */
export const EnrolRequest = z.strictObject({
  peer: z.string().min(1).max(512),
  name: name.exactOptional(),
  kind: DeviceKind.exactOptional(),
});
export type EnrolRequest = z.infer<typeof EnrolRequest>;

/** `name` is what the device will be called, whatever it calls itself; `kind` is `owner` where it is left out. */
export const PairRequest = z.strictObject({
  name: name.exactOptional(),
  kind: DeviceKind.exactOptional(),
});
export type PairRequest = z.infer<typeof PairRequest>;

/** What a device is shown: the code is in no list and no later answer. */
export const PairOffer = z.object({
  id: z.string(),
  code: z.string(),
  /** `…/pair#<code>`: what a QR code holds. */
  url: z.string(),
  kind: DeviceKind,
  expires_at: z.string(),
});
export type PairOffer = z.infer<typeof PairOffer>;

/** How an offer stands. A code that was claimed names the device, and the address that it was claimed from. */
export const PairState = z.object({
  id: z.string(),
  state: z.enum(["waiting", "claimed", "ended"]),
  kind: DeviceKind,
  expires_at: z.string(),
  device: Device.exactOptional(),
  from: z.string().exactOptional(),
});
export type PairState = z.infer<typeof PairState>;

export const ClaimRequest = z.strictObject({
  code: z.string().min(1).max(128),
  name: name.exactOptional(),
});
export type ClaimRequest = z.infer<typeof ClaimRequest>;

/** `key` is a bearer token. It is told this once. */
export const Claimed = z.object({ device: Device, key: z.string() });
export type Claimed = z.infer<typeof Claimed>;

/** One machine near this one, once for each mesh that both are in. */
export const Peer = z.object({
  name: z.string(),
  mesh: z.string(),
  overlay: z.string(),
  /** What `POST /v1/devices` takes: the machine's stable key. Told to who may admit devices. */
  id: z.string().exactOptional(),
  online: z.boolean().exactOptional(),
  /** The device that it is enrolled as. */
  device: DeviceId.exactOptional(),
});
export type Peer = z.infer<typeof Peer>;

export const PeerList = z.object({ peers: z.array(Peer) });
export type PeerList = z.infer<typeof PeerList>;

/** The labels of the meshes that this machine serves. */
export const MeshList = z.object({ meshes: z.array(z.string()) });
export type MeshList = z.infer<typeof MeshList>;
