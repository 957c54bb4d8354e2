// Records what one prompt in a new session writes, from its admission to its settlement.
//
//   record-invoke.ts STORE      the store is left as it was before the prompt in STORE-before

import { answerParent } from "./child.ts";
import { type InvokeWrites, invokeWrites } from "./invoke-writes.ts";
import { openLichen } from "./open-lichen.ts";
import { RecordingSql } from "./sql-trace.ts";
import { copyStore, renumberEmptySession, settleStore } from "./stores.ts";

const path = process.argv[2]!;
const session = "recorded-session";
/** Of no other value in the store. */
const lastSid = 777_000;

answerParent({
  record: async (): Promise<InvokeWrites> => {
    const made = await openLichen(path);
    await made.agent.create({ requestId: "make", session: "before" });
    await made.close();
    renumberEmptySession(path, "before", lastSid);
    settleStore(path);
    copyStore(path, `${path}-before`);

    let recording: RecordingSql | undefined;
    const { agent, close } = await openLichen(path, {
      around: (sql) => (recording = new RecordingSql(sql)),
    });
    const before = recording!.transactions.length;
    const handle = agent.session(session);
    const { commandId } = await handle.send({ type: "prompt", requestId: session, text: "Hello" });
    await handle.readSettlement(commandId!, { timeoutMs: 30_000 });
    const transactions = recording!.transactions.slice(before);
    const key = /^cmd_([0-9a-z]+)_/.exec(commandId!)?.[1];
    await close();
    if (key === undefined) throw new Error(`${commandId} has no session key.`);
    return invokeWrites(transactions, { session, key, sid: lastSid + 1 });
  },
});
