// `lichen log`: what was said and done in a session of this machine.

import type { Session } from "@lichen/client";
import { onStopSignal } from "@lichen/server/node";
import type { Baseline, Entry } from "@lichen/wire";
import type { Input } from "../command.ts";
import { followSession, pages } from "../follow-session.ts";
import { getConversation, isBegun } from "../machine/conversation.ts";
import { reachMachine } from "../machine/reach-machine.ts";
import { oneLine } from "../printable.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, quoted } from "../typed.ts";
import { howToAnswer } from "../waiting.ts";
import { isShown, WatchView } from "../watch-view.ts";

const defaultLimit = 50;
const pageLimit = 200;

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const machine = await reachMachine(input, terminal);
  const stop = new AbortController();
  const ignoreSignals = onStopSignal(() => stop.abort());
  try {
    const conversation = await getConversation(machine, input.argument("name") ?? "", {
      patienceMs: input.flag("follow") ? 0 : 25_000,
    });
    const { name, session } = conversation;
    if (!(await isBegun(conversation))) {
      terminal.say(
        `nothing was said in ${oneLine(name, 256)} yet; \`${commandName()} send ${quoted(name)} "…"${machine.place}\` begins it`,
      );
      return input.flag("follow") ? 1 : 0;
    }
    const view = new WatchView(terminal, (approval) => howToAnswer(approval, input));
    const tell = input.flag("json")
      ? (entry: Entry) => terminal.answer(`${JSON.stringify(entry)}\n`)
      : (entry: Entry) => view.entry(entry);
    const limit = Number(input.value("limit") ?? defaultLimit);
    const { after, head, approvals } = await latest(session, limit, input.flag("json"));
    view.past({ head, approvals });
    const { signal } = stop;
    if (input.flag("follow")) await follow({ session, after, signal, view, tell, terminal });
    else
      for await (const page of pages(session, after + 1, head, signal)) {
        for (const entry of page) tell(entry);
        await terminal.flush();
      }
    view.end();
    if (head === 0 && !input.flag("follow"))
      terminal.say(`nothing was said in ${oneLine(name, 256)} yet`);
    return 0;
  } finally {
    ignoreSignals();
    await machine.close();
  }
}

/** The entry behind which the latest `limit` that are shown begin, and the newest one. */
async function latest(
  session: Session,
  limit: number,
  isAll: boolean,
): Promise<{ after: number } & Pick<Baseline, "head" | "approvals">> {
  let left = limit;
  let now: Pick<Baseline, "head" | "approvals"> | undefined;
  for (let before: number | undefined; ;) {
    const page = await session.read({
      limit: pageLimit,
      ...(before === undefined ? {} : { before }),
    });
    now ??= page;
    const { head, approvals } = now;
    for (const entry of page.entries.toReversed())
      if ((isAll || isShown(entry)) && --left === 0)
        return { after: entry.seq - 1, head, approvals };
    const first = page.entries[0];
    if (first === undefined || first.seq === 1) return { after: 0, head, approvals };
    before = first.seq;
  }
}

interface Follow {
  readonly session: Session;
  readonly after: number;
  readonly signal: AbortSignal;
  readonly view: WatchView;
  readonly tell: (entry: Entry) => void;
  readonly terminal: Terminal;
}

function follow({ session, after, signal, view, tell, terminal }: Follow): Promise<void> {
  return followSession(
    session,
    {
      entry: tell,
      past: (baseline) => view.past(baseline),
      stands: (baseline) => view.now(baseline.running),
      isAnother: () => terminal.say("the session was deleted and made again"),
      other(frame) {
        if (frame.type === "partial") view.partial(frame.data);
        if (frame.type !== "outage" && frame.type !== "back") return;
        view.end();
        terminal.say(
          frame.type === "back"
            ? "the machine is back"
            : "the machine went away; waiting for it to come back",
        );
      },
      taken: () => terminal.flush(),
    },
    { fromStart: false, after, signal },
  );
}
