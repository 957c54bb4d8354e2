// A client that sends through an outbox in files, and kills itself at one of its own steps.
//
//   outbox-client.ts FOLDER URL TOKEN SESSION KILL_AT     0: never
//
// It prints `added ID` once the outbox has answered for a message, and `steps N` at its end.

import { writeSync } from "node:fs";
import { fileStorage } from "../../src/host/node.ts";
import { createClient, openOutbox } from "../../src/index.ts";

const [folder, url, token, session, killAt] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];

let steps = 0;
const step = (): void => {
  if (++steps === Number(killAt)) process.kill(process.pid, "SIGKILL");
};
const tell = (line: string): void => void writeSync(1, `${line}\n`);

const client = createClient({
  url,
  token,
  fetch: async (to, init) => {
    step();
    const response = await fetch(to, init);
    step();
    return response;
  },
});
const outbox = await openOutbox({ client, storage: fileStorage(folder, { onStep: step }) });
const done = Promise.withResolvers<void>();
outbox.subscribe(() => {
  if (outbox.items.every((item) => item.state === "restored")) done.resolve();
});
const picture = new TextEncoder().encode("GIF89a");
const add = async (id: string, type: "prompt" | "line", isPictured: boolean): Promise<string> => {
  const item = await outbox.add({
    agent: "a",
    session,
    command: { type, text: id, requestId: id },
    ...(isPictured ? { images: [{ mimeType: "image/gif", data: picture }] } : {}),
  });
  tell(`added ${id}`);
  return item.id;
};
await add("m1", "prompt", true);
await add("m2", "line", false);
const third = await add("m3", "prompt", false);
tell(`recalled ${(await outbox.recall(third)).status}`);
await add("m4", "line", false);
await done.promise;
await outbox.close();
tell(`steps ${steps}`);
