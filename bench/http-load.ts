// Load over HTTP/1.1 keep-alive on raw sockets: costs the generating side so little that the measured side is the limit.
//
// Only for servers of this folder: it trusts them to frame their answers (content-length or chunked).

import { connect, type Socket } from "node:net";

const endOfChunks = Buffer.from("\r\n0\r\n\r\n");

/** One connection, one request at a time. A server that closed it between two requests is connected to again. */
export class Keeping {
  readonly #port: number;
  #socket: Socket;
  #answer: PromiseWithResolvers<Buffer> | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Bytes of the whole answer once its head said so. */
  #length: number | undefined;

  private constructor(port: number, socket: Socket) {
    this.#port = port;
    this.#socket = socket;
    this.#listen();
  }

  static async open(port: number): Promise<Keeping> {
    return new Keeping(port, await connected(port));
  }

  /** Settles with the whole answer, head and body as received. */
  async send(request: string): Promise<Buffer> {
    if (this.#socket.destroyed || this.#socket.readableEnded) {
      this.#socket = await connected(this.#port);
      this.#listen();
    }
    this.#chunks = [];
    this.#bytes = 0;
    this.#length = undefined;
    this.#answer = Promise.withResolvers<Buffer>();
    this.#socket.write(request);
    return await this.#answer.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #listen(): void {
    const socket = this.#socket;
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("close", () => this.#answer?.reject(new Error("The server closed the connection.")));
    socket.on("error", (error) => this.#answer?.reject(error));
  }

  #read(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#chunks.length === 1) {
      const head = chunk.toString("latin1", 0, chunk.indexOf("\r\n\r\n") + 4);
      const length = /\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1];
      if (length !== undefined) this.#length = head.length + Number(length);
    }
    const isDone =
      this.#length === undefined ? endsChunks(this.#chunks) : this.#bytes >= this.#length;
    if (!isDone) return;
    const answer = this.#answer;
    this.#answer = undefined;
    answer?.resolve(this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks));
  }
}

function connected(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  return new Promise((resolve, reject) => {
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });
}

function endsChunks(chunks: readonly Buffer[]): boolean {
  const last = chunks.at(-1)!;
  const tail = last.length >= endOfChunks.length ? last : Buffer.concat(chunks.slice(-3));
  return tail.subarray(-endOfChunks.length).equals(endOfChunks);
}

export interface Target {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function postRequest({ port, path, headers }: Target, body: unknown): string {
  const json = JSON.stringify(body);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return (
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n` +
    `content-length: ${Buffer.byteLength(json)}\r\n${lines.join("")}\r\n${json}`
  );
}

/** Sends `requests` requests over `connections` connections, each as fast as it is answered; settles with requests per second. */
export async function requestRate(
  connections: readonly Keeping[],
  requests: number,
  make: () => string,
): Promise<number> {
  let left = requests;
  const began = performance.now();
  await Promise.all(
    connections.map(async (connection) => {
      while (left-- > 0) expectSuccess(await connection.send(make()));
    }),
  );
  return requests / ((performance.now() - began) / 1_000);
}

export function expectSuccess(answer: Buffer): void {
  const status = answer.toString("latin1", 9, 12);
  if (!status.startsWith("2"))
    throw new Error(`The measured server answered ${answer.toString("utf8", 0, 600)}`);
}
