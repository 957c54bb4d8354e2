// Brings the log of a run up to what pi's own transcript has, after a crash.

import type { Run } from "@lichen/runtime";
import type { EntryOf } from "@lichen/wire";
import { eventOf } from "./codec.ts";
import { assistantOf, compactionOf } from "./messages.ts";
import type { Recorder } from "./recorder.ts";
import type { Step } from "./recovery.ts";

/** Records what is missing, in pi's order. What has no result by then never gets one. */
export async function catchUp(run: Run, recorder: Recorder, steps: readonly Step[]): Promise<void> {
  const transcript = run.transcript();
  const entries = transcript.filter(
    (entry): entry is EntryOf<"message.assistant"> =>
      entry.kind === "message.assistant" && entry.commandId === run.commandId,
  );
  const outcomes = new Set(
    transcript.flatMap((entry) =>
      entry.kind === "message.tool" ? [`${entry.data.assistant}/${entry.data.index}`] : [],
    ),
  );
  // A compaction may hide the oldest, so they are matched from the end.
  const kept = steps.filter(
    ({ role, message, isLogged }) =>
      isLogged && role === "assistant" && assistantOf(message).data !== undefined,
  );
  const hidden = kept.length - entries.length;
  for (const step of steps) {
    const { role, message, isLogged } = step;
    const line = { type: "message_end", message };
    if (role === "assistant" && !isLogged) await recorder.assistant(line, message);
    else if (role === "assistant") {
      const entry = entries[kept.indexOf(step) - hidden]?.id;
      recorder.adopt(entry, message, (index) => outcomes.has(`${entry}/${index}`));
    } else if (isLogged) await recorder.adoptResult(message);
    else await recorder.toolResult(line, message);
  }
  for (const line of run.lines()) {
    const event = eventOf(line);
    if (event.type === "compacted" && event.automatic && event.result)
      recorder.count(compactionOf(event.result, true).usage);
  }
  await recorder.loseOpen();
}
