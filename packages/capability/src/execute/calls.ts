// The calls of one program: each is looked up, allowed, journalled and made, in this order.
//
//   D1  What is attached, and what is granted, is read at the call itself, and once more where a person was waited for.
//   D2  What may not run is an outcome of its own, journalled like any other, and reaches nobody's server.
//   D3  Without a journal a call that needs a person's word asks the host's, and is refused where nobody can be asked.

import { type Access, decide } from "../access.ts";
import type { CallContext } from "../connector.ts";
import { checkInput } from "../connectors/check-input.ts";
import { hint } from "../connectors/nearest.ts";
import { isObject } from "../connectors/read-json.ts";
import { OperationError } from "../failure.ts";
import type { Json, JsonObject } from "../json.ts";
import type { CapabilitySource } from "../surface/source.ts";
import type { SurfaceNamespace, SurfaceOperation } from "../surface/surface.ts";
import { discoveryNamespace, type Discovery, isDiscovery } from "./discovery.ts";
import { ImageCollector } from "./image-collector.ts";
import { namesOf } from "./names.ts";
import { type Binding, type BindingCall, type Bindings, ProgramEnd } from "./port.ts";
import type { ProgramLike, ProgramOutcomeLike } from "./program.ts";
import { type Answered, fromRecord, toRecord } from "./recorded.ts";

export interface ConfirmRequest {
  /** `namespace.operation`. */
  readonly operation: string;
  readonly input: JsonObject;
  readonly description: string;
}

/** What the calls of a program go through. */
export interface CallHost {
  readonly source: CapabilitySource;
  readonly discovery: Discovery;
  readonly program?: ProgramLike | undefined;
  /** All that decides about calls now; without it whatever needs no person's word is allowed. */
  readonly access?: (() => Access) | undefined;
  /** Asks a person for exactly this call; used where there is no journal. */
  readonly confirm?: ((asked: ConfirmRequest) => Promise<boolean>) | undefined;
  /** How the call of an ordinal asks a person something. */
  readonly ask?: ((ordinal: number) => CallContext["ask"]) | undefined;
  /** A text without what the host holds as secret. */
  readonly clean?: ((text: string) => string | Promise<string>) | undefined;
  /** Takes what a connector threw that is no `OperationError`. */
  readonly report?: ((error: unknown) => void) | undefined;
  readonly progress: (operation: string, text: string) => void;
}

/** What may be shown to people in one program. */
const most = { displays: 100, displayUnits: 1_048_576 };

interface Ready {
  readonly namespace: SurfaceNamespace;
  readonly operation: SurfaceOperation;
}

export class ProgramCalls {
  readonly #host: CallHost;
  readonly #images = new ImageCollector();
  readonly #display = new Map<number, { operation: string; data: readonly JsonObject[] }>();
  #displayed = { count: 0, units: 0 };

  constructor(host: CallHost) {
    this.#host = host;
  }

  get images(): ImageCollector["images"] {
    return this.#images.images;
  }

  /** What calls showed to people, in their order. */
  get displayed(): readonly { readonly operation: string; readonly data: JsonObject }[] {
    return [...this.#display]
      .sort(([a], [b]) => a - b)
      .flatMap(([, { operation, data }]) => data.map((one) => ({ operation, data: one })));
  }

  /**
   * All that could be called as the program began, in whatever process, and what it called since: that something is
   * gone meanwhile is told by the call.
   */
  bindings(): Bindings {
    const { source, program } = this.#host;
    const now = namesOf(source.surface());
    const names = new Map(
      Object.entries(program?.names(now) ?? now).map(([name, some]) => [name, new Set(some)]),
    );
    for (const { ordinal, operation, outcome } of program?.calls() ?? []) {
      const [namespace, property] = partsOf(operation);
      if (!names.has(namespace)) names.set(namespace, new Set());
      names.get(namespace)?.add(property);
      if (outcome?.ok) this.#keep(ordinal, operation, fromRecord(outcome.value));
    }
    return Object.fromEntries(
      [...names].map(([namespace, properties]) => [
        namespace,
        Object.fromEntries(
          [...properties].map((property) => [property, this.#binding(namespace, property)]),
        ),
      ]),
    );
  }

  #binding(namespace: string, property: string): Binding {
    const name = `${namespace}.${property}`;
    if (namespace === discoveryNamespace)
      return (given, call) => this.#discover(property, given, call);
    return (given, call) => this.call(name, given, call);
  }

  /** Makes one call by `namespace.operation`; rejects as a binding does. */
  async call(name: string, given: Json | undefined, call: BindingCall): Promise<Json | undefined> {
    const { program, confirm } = this.#host;
    const input = isObject(given) ? given : given === undefined ? {} : { input: given };
    const ready = attempt(() => {
      if (given !== undefined && !isObject(given)) throw notAnObject(name, given);
      return this.#ready(name);
    });
    if (!program) {
      if (!ready.ok) throw ready.error;
      const { operation } = ready.value;
      if (operation.confirm === true) {
        const { description } = operation;
        const asked = { operation: name, input, description };
        if (!(await confirm?.(asked)))
          throw new OperationError("denied", unconfirmed(name, confirm !== undefined));
        this.#ready(name);
      }
      return (await this.#perform(ready.value, name, input, call, call.signal)).value;
    }
    const { namespace, operation } = ready.ok ? ready.value : {};
    return this.#journalled(
      program,
      {
        ordinal: call.ordinal,
        capability: namespace?.id ?? "",
        operation: name,
        input,
        label: operation?.label ?? "read",
        replaySafe: operation?.replaySafe ?? false,
        confirm:
          operation?.confirm === true
            ? { description: operation.description.slice(0, 500) }
            : undefined,
        // By then it may be described in another way.
        check: (edited) => {
          checkInput(name, edited, this.#ready(name).operation.input);
          return edited;
        },
        waits: () => call.waits(),
      },
      call,
      async (allowed, signal) => {
        if (!ready.ok) throw ready.error;
        const now = this.#ready(name);
        if (now.operation.confirm === true && ready.value.operation.confirm !== true)
          throw new OperationError(
            "denied",
            `${name} needs a person's word by now, and nobody was asked. It did not run: call it again.`,
          );
        return toRecord(
          await this.#perform(now, name, allowed, call, AbortSignal.any([signal, call.signal])),
        );
      },
    );
  }

  async #discover(
    property: string,
    given: Json | undefined,
    call: BindingCall,
  ): Promise<Json | undefined> {
    const { discovery, source, program, access } = this.#host;
    const answer = async (): Promise<Json> => {
      if (!isDiscovery(property))
        throw new OperationError(
          "unknown_operation",
          `There is no ${discoveryNamespace}.${property}.`,
        );
      return discovery[property](source.surface(), given, access?.());
    };
    if (!program) return answer();
    return this.#journalled(
      program,
      {
        ordinal: call.ordinal,
        capability: discoveryNamespace,
        operation: `${discoveryNamespace}.${property}`,
        input: isObject(given) ? given : given === undefined ? {} : { input: given },
        label: "read",
        replaySafe: true,
      },
      call,
      async () => toRecord({ value: await answer(), images: [], display: [] }),
    );
  }

  /** One call through the journal; a stop ends the waiting for a person, and lets an effect end by itself. */
  async #journalled(
    program: ProgramLike,
    asked: Parameters<ProgramLike["call"]>[0],
    { signal }: BindingCall,
    effect: Parameters<ProgramLike["call"]>[1],
  ): Promise<Json | undefined> {
    const stopped = Promise.withResolvers<never>();
    stopped.promise.catch(ignore);
    let isRunning = false;
    const stop = (): void => {
      if (!isRunning) stopped.reject(new ProgramEnd("aborted", "The program was stopped."));
    };
    signal.addEventListener("abort", stop, { once: true });
    let outcome: ProgramOutcomeLike;
    try {
      const called = program.call(asked, async (input, runs) => {
        if (signal.aborted)
          throw new OperationError(
            "stopped",
            `${asked.operation} did not run: the program was stopped.`,
          );
        isRunning = true;
        return effect(input, runs);
      });
      called.catch(ignore);
      outcome = await Promise.race([called, stopped.promise]);
    } catch (error) {
      if (codeOf(error) === "diverged") throw new ProgramEnd("diverged", messageOf(error));
      if (error instanceof ProgramEnd) throw error;
      if (signal.aborted) throw new ProgramEnd("aborted", "The program was stopped.");
      throw error;
    } finally {
      signal.removeEventListener("abort", stop);
    }
    if (!outcome.ok) throw new OperationError(outcome.code, outcome.message);
    const answered = fromRecord(outcome.value);
    this.#keep(asked.ordinal, asked.operation, answered);
    return answered.value;
  }

  /** The operation of this name as it stands now, where it may be called. */
  #ready(name: string): Ready {
    const { source, access } = this.#host;
    const { namespaces, renamed } = source.surface();
    const [called, property] = partsOf(name);
    const namespace = namespaces.find((one) => one.name === called);
    if (!namespace) {
      const now = Object.hasOwn(renamed, called) ? renamed[called] : undefined;
      if (now !== undefined)
        throw new OperationError(
          "renamed",
          `${called} is called ${now} now: call ${now}.${property}. It did not run.`,
        );
      throw new OperationError(
        "detached",
        `${called} is not attached any more, so ${name} did not run. Go on without it.`,
      );
    }
    const rules = access?.() ?? {};
    const operation = namespace.operations.find((one) => one.property === property);
    if (!operation) {
      const names = namespace.operations
        .filter(({ label }) => decide(rules, namespace.grant, label).allowed)
        .map((one) => one.property);
      throw new OperationError(
        "detached",
        `${called} has no operation ${property} any more, so it did not run.${hint(property, names)}`,
      );
    }
    const decision = decide(rules, namespace.grant, operation.label);
    if (!decision.allowed) throw new OperationError(decision.code, decision.message);
    return { namespace, operation };
  }

  async #perform(
    { namespace, operation }: Ready,
    name: string,
    input: JsonObject,
    call: BindingCall,
    signal: AbortSignal,
  ): Promise<Answered> {
    const { source, ask, progress } = this.#host;
    const images = this.#images.open();
    const display: JsonObject[] = [];
    const asks = ask?.(call.ordinal);
    let succeeded = false;
    try {
      const value = await source.call(namespace.id, operation.name, input, {
        signal,
        image: (image) => images.take(image),
        progress: (text) => progress(name, text),
        display: (data) => display.push(this.#displayable(data)),
        ...(asks
          ? {
              ask: async (questions, description) => {
                const goOn = call.waits();
                try {
                  return await asks(questions, description);
                } finally {
                  goOn();
                }
              },
            }
          : {}),
      });
      // What the program is told is what the journal keeps.
      const refused = call.refusal?.(value);
      if (refused) throw refused;
      succeeded = true;
      // The contract of connectors: JSON, or undefined. What is none fails where it is written.
      const answered = {
        ...(value === undefined ? {} : { value: value as Json }),
        images: images.end(true),
        display,
      };
      this.#keep(call.ordinal, name, answered);
      return answered;
    } catch (error) {
      throw await this.#failure(name, error, signal);
    } finally {
      if (!succeeded) images.end(false);
    }
  }

  #keep(ordinal: number, operation: string, { images, display }: Answered): void {
    this.#images.restore(images);
    if (display.length > 0) this.#display.set(ordinal, { operation, data: display });
  }

  #displayable(data: JsonObject): JsonObject {
    const text = JSON.stringify(data);
    this.#displayed = {
      count: this.#displayed.count + 1,
      units: this.#displayed.units + text.length,
    };
    if (this.#displayed.count > most.displays || this.#displayed.units > most.displayUnits)
      throw new OperationError(
        "too_large",
        `A program shows people ${most.displays} things and ${most.displayUnits} characters of JSON at most: show less.`,
      );
    return JSON.parse(text) as JsonObject;
  }

  /** What the code is told of a call that failed. */
  async #failure(name: string, error: unknown, signal: AbortSignal): Promise<Error> {
    const { clean = (text: string) => text, report } = this.#host;
    if (isOperationError(error)) return new OperationError(error.code, await clean(error.message));
    if (signal.aborted)
      return new OperationError(
        "stopped",
        `${name} was stopped before it ended: whether it took effect is unknown.`,
      );
    report?.(error);
    return new OperationError(
      "failed",
      `${name} failed in its connector, not in your code: its host has written down how. Go on without it.`,
    );
  }
}

function attempt<T>(work: () => T): { ok: true; value: T } | { ok: false; error: unknown } {
  try {
    return { ok: true, value: work() };
  } catch (error) {
    return { ok: false, error };
  }
}

function partsOf(name: string): [namespace: string, property: string] {
  const dot = name.indexOf(".");
  return [name.slice(0, dot), name.slice(dot + 1)];
}

function notAnObject(name: string, given: Json): OperationError {
  const kind = given === null ? "null" : Array.isArray(given) ? "a list" : `a ${typeof given}`;
  return new OperationError(
    "invalid_input",
    `${name} takes one object with its fields, and was given ${kind}.`,
  );
}

function unconfirmed(name: string, wasAsked: boolean): string {
  return wasAsked
    ? `A person did not allow ${name}. It did not run.`
    : `${name} needs a person's word, and nobody can be asked here. It did not run: go on without it.`;
}

/** Also of another copy of the package. */
function isOperationError(error: unknown): error is OperationError {
  return error instanceof Error && error.name === "OperationError" && "code" in error;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function ignore(): void {}
