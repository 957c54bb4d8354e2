// A client of a machine, or of the relay beside it: what it asks, and streams that it watches to the end.

import { get, request as open, type IncomingMessage } from "node:http";
import type { Child } from "./child.ts";

export interface Address {
  readonly port: number;
  readonly token?: string;
}

const patienceMs = 60_000;

/** Asks, and answers what came of it: the whole body, as text. */
export async function ask(address: Address, path: string, body?: object): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const asked = open({
    ...{ host: "127.0.0.1", port: address.port, path, headers: headersOf(address) },
    method: body === undefined ? "GET" : "POST",
  });
  asked.once("response", resolve).once("error", reject);
  asked.end(body === undefined ? undefined : JSON.stringify(body));
  const answer = await promise;
  let text = "";
  for await (const chunk of answer.setEncoding("utf8")) text += chunk;
  if ((answer.statusCode ?? 0) < 300) return text;
  throw new Error(`The measured server answered ${answer.statusCode} ${text.slice(0, 600)}`);
}

export async function machineAddress(machine: Child): Promise<Address> {
  const [port, token] = await machine.ask<[number, string]>("address");
  return { port, token };
}

/** A stream of events, read as it comes. */
export class Watching {
  readonly #answer: IncomingMessage;
  #isWanted: (() => boolean) | undefined;
  #awaited = Promise.withResolvers<void>();
  #isOver = false;
  /** Told of each piece as it arrives, in the order of arrival. */
  readonly #took: (text: string) => void;

  private constructor(answer: IncomingMessage, took: (text: string) => void) {
    this.#answer = answer;
    this.#took = took;
    answer.setEncoding("latin1");
    answer.on("data", (text: string) => this.#take(text));
    answer.once("close", () => {
      this.#isOver = true;
      this.#awaited.reject(new Error("The stream ended."));
    });
    this.#awaited.promise.catch(() => {});
  }

  static open(address: Address, path: string, took: (text: string) => void): Promise<Watching> {
    const { promise, resolve, reject } = Promise.withResolvers<Watching>();
    const headers = headersOf(address);
    get({ host: "127.0.0.1", port: address.port, path, headers, agent: false }, (answer) => {
      if (answer.statusCode === 200) resolve(new Watching(answer, took));
      else reject(new Error(`The measured server answered ${answer.statusCode} to ${path}`));
    }).once("error", reject);
    return promise;
  }

  /** Settles when what has come is enough. */
  async until(isEnough: () => boolean, what: string): Promise<void> {
    if (isEnough()) return;
    if (this.#isOver) throw new Error(`The stream ended before ${what}.`);
    this.#isWanted = isEnough;
    this.#awaited = Promise.withResolvers();
    const { promise, reject } = this.#awaited;
    const patience = setTimeout(() => reject(new Error(`No ${what} came.`)), patienceMs);
    await promise.finally(() => clearTimeout(patience));
  }

  close(): void {
    this.#answer.destroy();
  }

  #take(text: string): void {
    this.#took(text);
    if (this.#isWanted?.() !== true) return;
    this.#isWanted = undefined;
    this.#awaited.resolve();
  }
}

/** Reads the times in what streams: how long each delta was on its way. */
export class DeltaTimes {
  /** Milliseconds, in the order of arrival. */
  latencies: number[] = [];
  /** Turns that have ended. */
  ends = 0;
  #rest = "";

  take(text: string): void {
    const now = process.hrtime.bigint();
    const all = this.#rest + text;
    let end = 0;
    for (const { index } of all.matchAll(/"type":"result"/g))
      if (index + 15 > this.#rest.length) this.ends++;
    for (const { 0: stamp, 1: nanos, index } of all.matchAll(/@(\d+);/g)) {
      this.latencies.push(Number(now - BigInt(nanos!)) / 1e6);
      end = index + stamp.length;
    }
    this.#rest = all.slice(Math.max(end, all.length - 32));
  }
}

function headersOf({ token }: Address): Record<string, string> {
  return {
    "content-type": "application/json",
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
}
