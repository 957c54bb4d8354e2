// A host that is killed in the middle of a run, for tests: `node killed-host.ts FOLDER MOMENT PROMPT [AGENT URL]`. Moments,
// in their order: see `moments`. AGENT: a real one (see `real.ts`), whose provider is at URL.

import type { Draft, Engine, EngineHost, Run } from "@lichen/runtime";
import { type RealName, realAgents } from "./real.ts";
import { Rig, type RigOptions } from "./rig.ts";

const [folder = "", moment = "", prompt = "", name, url = ""] = process.argv.slice(2);

function die(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("It was not killed.");
}

/** Where a host dies: in what its engine does, or once something has come about. */
interface Moment {
  readonly flags?: RigOptions["flags"];
  /** In place of, or around, what the engine records outside of a run. */
  readonly record?: (drafts: readonly { kind: string }[], write: () => Promise<void>) => unknown;
  /** The same for what a run appends. */
  readonly append?: (drafts: readonly Draft[], write: () => Promise<unknown>) => unknown;
  readonly steers?: (steers: readonly unknown[]) => void;
  /** A run is called, which an earlier host left or not. */
  readonly begins?: (isResumed: boolean) => void;
  /** The engine has said how its run ended. */
  readonly ran?: () => void;
  /** Settles when it is time. */
  readonly when?: (rig: Rig) => Promise<unknown>;
}

const isOf = (drafts: readonly { kind: string }[], kind: string) =>
  drafts.some((draft) => draft.kind === kind);

const moments: Readonly<Record<string, Moment>> = {
  /** Its process is begun and not recorded. */
  unrecorded: { record: (drafts, write) => (isOf(drafts, "harness.process") ? die() : write()) },
  /** The process is recorded. */
  process: {
    record: async (drafts, write) => {
      await write();
      if (isOf(drafts, "harness.process")) die();
    },
  },
  /** It was asked for a new session, and has not answered. */
  new: { flags: ["--load", "--late=never"], when: (rig) => rig.noted("asked") },
  /** The session is known, and nothing was said in it. */
  opened: {
    record: async (drafts, write) => {
      await write();
      if (isOf(drafts, "harness.conversation")) die();
    },
  },
  /** That the prompt is sent is in the log, and it is not sent. */
  noted: {
    append: async (drafts, write) => {
      const answer = await write();
      return JSON.stringify(drafts).includes('"session/prompt"') ? die() : answer;
    },
  },
  /** The agent has the prompt, and has said nothing. */
  received: { when: (rig) => rig.noted("waits") },
  /** It asks a person. */
  prompt: { when: (rig) => rig.asked() },
  /** A person has allowed a call, which is at work. */
  allowed: {
    when: async (rig) => {
      await rig.answer((await rig.asked()).approvalId, { allow: true });
      await rig.noted("waits");
    },
  },
  /** A steer has joined the run, and is not sent. */
  joined: {
    steers: (steers) => (steers.length > 0 ? die() : undefined),
    when: async (rig) => {
      await rig.noted("waits");
      await rig.send({ type: "prompt", text: "a steer", delivery: "steer" });
      rig.release("go");
      await new Promise(() => {});
    },
  },
  /** The agent's turn has ended, and nothing is settled. */
  ended: { ran: die },
  /** What became of a call is in the log. */
  told: {
    append: async (drafts, write) => {
      const answer = await write();
      return isOf(drafts, "message.tool") ? die() : answer;
    },
  },
  /** A later host is to go on with what an earlier one left. */
  recovering: { begins: (isResumed) => (isResumed ? die() : undefined) },
};

const { flags, record, append, steers, begins, ran, when }: Moment = moments[moment] ?? {};

function doomed(engine: Engine): Engine {
  return {
    ...engine,
    open(session, host) {
      const connection = engine.open(session, lent(host));
      return {
        stays: true,
        close: () => connection.close(),
        async run(work, run) {
          begins?.(work.resumed);
          const result = await connection.run(work, watched(run));
          ran?.();
          return result;
        },
      };
    },
  };
}

function lent(host: EngineHost): EngineHost {
  return {
    outside: (opened) => host.outside(opened),
    harness: () => host.harness(),
    async record(drafts, by) {
      const write = () => host.record(drafts, by);
      await (record ? record(drafts, write) : write());
    },
  };
}

function watched(run: Run): Run {
  return new Proxy(run, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === "append" && append)
        return (drafts: readonly Draft[]) => append(drafts, () => target.append(drafts));
      if (name === "steers")
        return async () => {
          const joined = await target.steers();
          steers?.(joined);
          return joined;
        };
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function optionsOf(real: string | undefined): Promise<RigOptions> {
  if (real === undefined) return flags ? { flags } : {};
  const agent = realAgents[real as RealName];
  return { command: agent.command, env: await agent.furnish(folder, url) };
}

const rig = await Rig.at(folder, { ...(await optionsOf(name)), wrap: doomed });
if (prompt !== "") await rig.begin(prompt);
if (when) {
  await when(rig);
  die();
}
await new Promise(() => {});
