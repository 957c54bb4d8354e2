// `lichen doctor`: what is found, what is missing and how to mend it; and the way out of a damaged store.

import type { Input } from "../command.ts";
import { type Check, fail, note, shown } from "../doctor/check.ts";
import { checkFolder, checkModels } from "../doctor/folder.ts";
import { checkHarnesses, checkMachine } from "../doctor/machine.ts";
import { checkGit, checkNode, checkSandbox, checkScreen } from "../doctor/program.ts";
import { salvage } from "../doctor/salvage.ts";
import { checkSecrets } from "../doctor/secrets.ts";
import { checkHost, checkPort } from "../doctor/serving.ts";
import { checkState, checkStore, checkToken } from "../doctor/state.ts";
import { type Subject, subjectOf } from "../doctor/subject.ts";
import type { Terminal } from "../terminal.ts";

const usualPort = 7_387;

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const subject = await subjectOf(input);
  const target = input.value("salvage");
  if (target !== undefined) return salvage(input, terminal, subject, target);
  const checks = [
    ...(await examined(subject)),
    ...checkHarnesses(),
    ...(await checkMachine(input, terminal)),
    ...lastly(checkScreen()),
  ];
  const isWell = checks.every(({ level }) => level !== "fail");
  terminal.answer(
    input.flag("json") ? `${JSON.stringify({ ok: isWell, checks })}\n` : shown(checks),
  );
  return isWell ? 0 : 1;
}

async function examined({ agentDir, refusal, unread, stateDir }: Subject): Promise<Check[]> {
  const folder = agentDir === undefined ? undefined : await checkFolder(agentDir);
  const config = folder?.loaded?.definition.config;
  const hasTools = config !== undefined && config.codingTools !== false;
  const served = stateDir === undefined ? undefined : await checkHost(stateDir);
  return [
    ...(await checkNode()),
    ...(folder?.checks ?? [withoutFolder(refusal)]),
    ...(unread === undefined
      ? []
      : [fail("variables", unread, "until then none of its variables counts")]),
    ...(agentDir === undefined ? [] : await checkSecrets(agentDir)),
    ...(await checkModels(folder?.loaded)),
    ...(await checkState(stateDir)),
    ...(stateDir === undefined
      ? []
      : [...(await checkStore(stateDir)), await checkToken(stateDir)]),
    ...(served === undefined ? [] : [served.check]),
    await checkPort(
      config?.http?.port ?? usualPort,
      config?.http?.host ?? "127.0.0.1",
      served?.url,
    ),
    await checkSandbox(),
    ...(hasTools ? [await checkGit()] : []),
  ];
}

function lastly(check: Check | undefined): Check[] {
  return check === undefined ? [] : [check];
}

function withoutFolder(refusal: string | undefined): Check {
  if (refusal !== undefined) return fail("folder", "there is no agent folder", refusal);
  return note(
    "folder",
    "there is no agent folder here: what belongs to one is not checked",
    "name one, or write one with `lichen init`",
  );
}
