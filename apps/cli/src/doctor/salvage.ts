// `lichen doctor --salvage`: the words about what was copied of a damaged store, and what was not.

import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import {
  isHeld,
  nodePlatform,
  type SalvagedSession,
  type SalvageReport,
  salvageStore,
} from "@lichen/runtime/node";
import {
  configNames,
  connectHost,
  hostsDir,
  liesIn,
  readHostFile,
  realPlace,
} from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import type { Input } from "../command.ts";
import { oneLine } from "../printable.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, quoted } from "../typed.ts";
import type { Subject } from "./subject.ts";

export async function salvage(
  input: Input,
  terminal: Terminal,
  { agentDir, cwd, stateDir, refusal }: Subject,
  target: string,
): Promise<number> {
  if (stateDir === undefined)
    throw new Fault(
      "invalid",
      refusal ??
        "There is no state to copy from: name the agent's folder, or its state with --state.",
    );
  const to = resolve(target);
  refuseInside(to, [agentDir, cwd, ...agentsAround(to)]);
  if (!input.flag("json")) terminal.say(`Reading ${join(stateDir, "host.db")} …`);
  const report = await salvaged(stateDir, to);
  if (input.flag("json")) {
    terminal.answer(`${JSON.stringify({ state: to, ...report })}\n`);
    return 0;
  }
  terminal.answer(report.sessions.map((session) => `${lineOf(session)}\n`).join(""));
  terminal.say(summaryOf(report, to));
  const dir = input.argument("dir");
  const folder = dir === undefined ? "" : ` ${quoted(dir)}`;
  terminal.say(`Go on with it:\n  ${commandName()} start${folder} --state ${quoted(to)}`);
  const open = [stateDir, to].filter((path) => !liesIn(path, hostsDir()));
  if (open.length > 0)
    terminal.say(
      `Keep ${open.join(" and ")} where no agent works: from an agent only the state it is served from and ` +
        `${hostsDir()} are hidden.`,
    );
  return 0;
}

async function salvaged(stateDir: string, to: string): Promise<SalvageReport> {
  const platform = nodePlatform({
    report: (error) => {
      throw error;
    },
  });
  try {
    return await salvageStore({
      from: join(stateDir, "host.db"),
      to: join(to, "host.db"),
      platform,
    });
  } catch (error) {
    if (!Fault.is(error)) throw error;
    const file = readHostFile(stateDir);
    if (isHeld(error) && file && (await connectHost(stateDir)).found === "host")
      throw new Fault(
        "unavailable",
        `Process ${file.pid} serves this state at ${file.url}: stop it, then salvage. Nothing was changed.`,
        { cause: error },
      );
    throw error;
  }
}

/** An agent's tools must not find its state; a start would refuse it there. */
function refuseInside(path: string, folders: readonly (string | undefined)[]): void {
  const inside = folders.find((folder) => folder !== undefined && liesIn(path, folder));
  if (inside === undefined) return;
  throw new Fault(
    "invalid",
    `The copy would lie in ${inside}, where the agent's own tools could read it: name a folder outside.`,
  );
}

/** The folders at and above a place that are an agent's. */
function agentsAround(path: string): string[] {
  const found: string[] = [];
  for (let at = realPlace(path); ; at = dirname(at)) {
    if (configNames.some((name) => existsSync(join(at, name)))) found.push(at);
    if (at === dirname(at)) return found;
  }
}

function lineOf(session: SalvagedSession): string {
  const { kept, lost, leftOut, lostBlobs, ended } = session;
  const name = oneLine(`${session.agent}/${session.session}`, 300);
  if (!session.isCopied)
    return `lost  ${name}: neither its name nor its beginning was found; ${lost} entries lost`;
  const isWhole = lost === 0 && lostBlobs === 0 && session.isEndKnown && !session.isDetached;
  const said = [
    `${kept} ${kept === 1 ? "entry" : "entries"} kept`,
    ...(lost > 0
      ? [`${lost} lost${leftOut > 0 ? ` (${leftOut} of them readable, behind a gap)` : ""}`]
      : []),
    ...(session.isEndKnown ? [] : ["more may be lost at its end"]),
    ...(lostBlobs > 0
      ? [`${lostBlobs} ${lostBlobs === 1 ? "large text or image" : "large texts or images"} lost`]
      : []),
    ...(ended > 0
      ? [`${ended} open ${ended === 1 ? "command" : "commands"} ended as unknown`]
      : []),
    ...(session.isDetached ? ["the conversation that it was forked from is lost there"] : []),
    ...(session.isNameless ? ["its name is lost"] : []),
  ];
  return `${isWhole ? "whole" : "part "} ${name}: ${said.join(", ")}`;
}

function summaryOf(report: SalvageReport, to: string): string {
  const { pages, unreadablePages, isWalCut } = report;
  const sessions = report.sessions.filter(({ isCopied }) => isCopied);
  const kept = sessions.reduce((sum, session) => sum + session.kept, 0);
  const lost = report.sessions.reduce((sum, session) => sum + session.lost, 0);
  return [
    `${sessions.length} ${sessions.length === 1 ? "session" : "sessions"} copied to ${to}: ${kept} entries, ${lost} known to be lost.`,
    ...(report.capabilities.lost === 0
      ? []
      : [
          `${report.capabilities.lost} of ${report.capabilities.kept + report.capabilities.lost} capabilities could not be copied: see with \`lichen capability list\` what is there, and add what is missing.`,
        ]),
    `${unreadablePages} of ${pages} pages were damaged${isWalCut ? ", and the newest changes (the end of the WAL) are lost" : ""}. The damaged store was not changed: keep it until you have seen what is there.`,
  ].join("\n");
}
