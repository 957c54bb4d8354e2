// What an outbox's storage keeps, wherever it keeps it.

import { expect, test } from "vitest";
import type { OutboxItem, OutboxStorage } from "../src/index.ts";

export function itemAt(order: number, extra: Partial<OutboxItem> = {}): OutboxItem {
  const requestId = `r${order}`;
  return {
    id: `i${order}`,
    order,
    addedAt: 1_700_000_000_000,
    agent: "a",
    session: "s ☃",
    requestId,
    command: { type: "prompt", requestId, text: `text ${order} 💥` },
    images: [],
    state: "waiting",
    ...extra,
  };
}

/** `reopen` gives a storage on what the one before it kept. */
export function storageContract(
  where: string,
  open: () => Promise<{ storage: OutboxStorage; reopen: () => OutboxStorage }>,
): void {
  test(`[N22] what is put is there again, replaced and removed by its id (${where})`, async () => {
    const { storage, reopen } = await open();
    expect(await storage.load()).toEqual({ items: [], damaged: [] });
    const items = [itemAt(1), itemAt(2), itemAt(3)];
    for (const item of items) await storage.put(item);
    const refused = itemAt(2, {
      state: "set_aside",
      reason: { code: "too_large", message: "no" },
      images: [{ mimeType: "image/png", file: "i2-0", bytes: 3 }],
    });
    await storage.put(refused);
    await storage.remove(items[0]!);
    await storage.remove(items[0]!);
    const { items: found } = await reopen().load();
    expect(found.sort((a, b) => a.order - b.order)).toEqual([refused, items[2]]);
  });

  test(`[N22] pictures come back as they were, and old ones can be found (${where})`, async () => {
    const { storage, reopen } = await open();
    const bytes = Uint8Array.from({ length: 100_000 }, (_, at) => at % 251);
    await storage.putFile("i1-0", bytes);
    bytes.fill(0);
    const found = await reopen().getFile("i1-0");
    expect(found?.length).toBe(100_000);
    expect([found?.[1], found?.[250], found?.[251]]).toEqual([1, 250, 0]);
    expect(await storage.getFile("i2-0")).toBeUndefined();
    expect(await storage.filesBefore(0)).toEqual([]);
    expect(await storage.filesBefore(Date.now() + 60_000)).toEqual(["i1-0"]);
    await storage.removeFile("i1-0");
    await storage.removeFile("i1-0");
    expect(await reopen().getFile("i1-0")).toBeUndefined();
  });
}
