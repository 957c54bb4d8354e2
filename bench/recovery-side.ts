// The processes of figure 6: one that is killed while every session runs, one that reopens the store.
//
//   recovery-side.ts STORE

import { scriptedEngine } from "@lichen/runtime/testing";
import { answerParent } from "./child.ts";
import { oneDelta, openLichen } from "./open-lichen.ts";

const store = process.argv[2]!;

answerParent({
  /** Settles when all of them are in the middle of a run: a message is committed, the next never comes. */
  run: async (sessions: number) => {
    let under = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const gate = (): Promise<never> => {
      if (++under === sessions) resolve();
      return new Promise(() => {});
    };
    const engine = scriptedEngine([{ say: "On it." }, { gate }]);
    const { agent } = await openLichen(store, { engine, capacity: sessions });
    for (let number = 0; number < sessions; number++)
      void agent
        .session(`session-${number}`)
        .send({ type: "prompt", requestId: "ask", text: "Do something long." });
    await promise;
  },
  /** Milliseconds from opening the store until the last command is settled, under the usual capacity. */
  recover: async (sessions: number) => {
    const began = performance.now();
    const { agent, close } = await openLichen(store, { engine: oneDelta() });
    for (let number = 0; number < sessions; number++) {
      const session = agent.session(`session-${number}`);
      const { running, entries } = await session.read();
      const commandId = running?.commandId ?? entries.at(-1)?.commandId;
      const settled = await session.readSettlement(commandId!, { timeoutMs: 30_000 });
      if (settled?.terminal !== "completed")
        throw new Error(`session-${number} ended ${settled?.terminal ?? "never"}.`);
    }
    const took = performance.now() - began;
    await close();
    return took;
  },
});
