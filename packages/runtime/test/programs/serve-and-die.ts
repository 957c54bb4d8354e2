// A host of its own: eight clients admit prompts through one owner on the store of the first argument, until somebody
// kills the process. The second argument makes its request ids its own, the third is a file that every effect is noted in.
//
// Each acknowledgement is a line on stdout: `receipt <session> <request id> <command id>`, and
// `end <session> <command id> <terminal>` for each settlement that was told. A line is written before anything else goes on.

import { appendFileSync, writeSync } from "node:fs";
import { acquireLease, nodePlatform, openSql } from "../../src/host/node/index.ts";
import { openOwner } from "../../src/index.ts";
import { scriptedEngine } from "../../src/testing/index.ts";

const [path, life, effects] = process.argv.slice(2) as [string, string, string];
const say = (line: string): void => void writeSync(1, `${line}\n`);

await acquireLease(path);
const { sql } = await openSql(path);
const report = (error: unknown): void => say(`report ${String(error)}`);
const owner = openOwner({ sql, platform: nodePlatform({ report }), capacity: 6 });
const engine = scriptedEngine((work) => {
  const effect = (): string => {
    appendFileSync(effects, `${work.commandId}\n`);
    return "noted";
  };
  return [
    { partials: ["let me"] },
    { calls: [{ name: "note", label: "write", effect }, { name: "look" }], text: "let me see" },
    { steers: true },
    { say: `${work.text} `.repeat(2_000) },
  ];
});
const agent = await owner.attach({ agent: "a", engine });

async function client(number: number): Promise<never> {
  const session = agent.session(`s${number % 5}`);
  for (let n = 0; ; n++) {
    const requestId = `${life}-${number}-${n}`;
    const delivery = n % 4 === 3 ? "steer" : "follow_up";
    const receipt = await session.send({ type: "prompt", requestId, text: requestId, delivery });
    say(`receipt ${session.id} ${requestId} ${receipt.commandId}`);
    if (n % 5 === 4)
      await session.send({
        type: "cancel",
        requestId: `c-${requestId}`,
        commandId: receipt.commandId!,
      });
    const settlement = await session.readSettlement(receipt.commandId!, { timeoutMs: 30_000 });
    if (settlement) say(`end ${session.id} ${receipt.commandId} ${settlement.terminal}`);
  }
}

say("open");
await Promise.all(Array.from({ length: 8 }, (_, number) => client(number)));
