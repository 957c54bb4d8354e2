// Runs programs in this process, for tests of what stands around the sandbox: no border, no bounds, the same port.

import {
  type Bindings,
  type ExecuteOptions,
  type Execution,
  ProgramEnd,
  type SandboxExecutor,
} from "@lichen/capability/execute";
import type { Json } from "@lichen/capability";

type Body = (...given: unknown[]) => Promise<unknown>;
const AsyncFunction = (async () => {}).constructor as new (...parts: string[]) => Body;

export const plainExecutor: SandboxExecutor = {
  async execute(code: string, bindings: Bindings, options: ExecuteOptions = {}) {
    const signal = options.signal ?? new AbortController().signal;
    const ended = Promise.withResolvers<never>();
    ended.promise.catch(() => undefined);
    let calls = 0;
    let printed = "";
    const namespaces = Object.entries(bindings).map(([name, operations]) => [
      name,
      Object.fromEntries(
        Object.entries(operations).map(([property, binding]) => [
          property,
          async (input?: Json) => {
            const call = { ordinal: calls++, signal, waits: () => () => {} };
            try {
              return await binding(input, call);
            } catch (error) {
              if (error instanceof ProgramEnd) ended.reject(error);
              throw error;
            }
          },
        ]),
      ),
    ]);
    const console = {
      log: (...shown: unknown[]) => {
        printed += `${shown.join(" ")}\n`;
        options.output?.(printed);
      },
    };
    const globals = { ...Object.fromEntries(namespaces), console } as Record<string, unknown>;
    const end = (result: Execution["result"]): Execution => ({ result, printed, calls });
    try {
      const body = new AsyncFunction(...Object.keys(globals), code);
      const value = await Promise.race([body(...Object.values(globals)), ended.promise]);
      return end(value === undefined ? { ok: true } : { ok: true, value: value as Json });
    } catch (error) {
      if (error instanceof ProgramEnd)
        return end({ ok: false, reason: error.reason, message: error.message });
      const code = error instanceof Error && "code" in error ? ` [${String(error.code)}]` : "";
      return end({ ok: false, reason: "error", message: `${String(error)}${code}` });
    }
  },
};
