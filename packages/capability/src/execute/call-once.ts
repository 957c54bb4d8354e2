// One operation called by itself, as a tool of its own does: the same checks, images and display data as in a program.

import type { JsonObject } from "../json.ts";
import { contentOf } from "./answer.ts";
import { type CallHost, ProgramCalls } from "./calls.ts";
import { createDiscovery } from "./discovery.ts";
import type { ExecuteContext, ExecuteResult } from "./execute-tool.ts";

export interface OneCall extends Pick<CallHost, "source" | "report"> {
  /** `namespace.operation`. */
  readonly operation: string;
  readonly input: JsonObject;
  /** Without a journal: the host's own order stands around the call. */
  readonly context: Omit<ExecuteContext, "program">;
}

/** Makes the call; what fails is a result that says so, with its code. */
export async function callOnce({
  source,
  report,
  operation,
  input,
  context,
}: OneCall): Promise<ExecuteResult> {
  const { signal, access, confirm, ask, clean, output } = context;
  const calls = new ProgramCalls({
    ...{ source, access, confirm, ask, clean, report },
    discovery: createDiscovery(),
    progress: (_, text) => output?.(text),
  });
  try {
    const value = await calls.call(operation, input, {
      ordinal: 0,
      signal,
      waits: () => () => {},
    });
    const result = value === undefined ? ({ ok: true } as const) : ({ ok: true, value } as const);
    const { displayed } = calls;
    return {
      content: contentOf({ result, printed: "", calls: 1 }, calls.images),
      isError: false,
      data: displayed.length === 0 ? {} : { displayed: displayed.map((one) => ({ ...one })) },
    };
  } catch (error) {
    if (signal.aborted || !(error instanceof Error) || error.name !== "OperationError") throw error;
    const code = "code" in error ? String(error.code) : "failed";
    return {
      content: [{ type: "text", text: `${operation} failed (${code}): ${error.message}` }],
      isError: true,
      data: {},
    };
  }
}
