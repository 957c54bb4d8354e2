// A loopback proxy in front of a host that can cut what it passes on at any byte.
//
//   It plays a recorded answer up to a byte and then breaks the connection, for a request that carries `x-cut: n`.
//   It relays everything else; with `x-limit: n` it breaks the connection after n bytes of the answer.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface CuttingProxy extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** What `x-cut` requests are answered with: the raw bytes of an answer. */
  recording: Buffer;
}

export type Pages = ReadonlyMap<string, { readonly type: string; readonly body: string | Buffer }>;

export async function openCuttingProxy(
  hostPort: number,
  /** Pages that the proxy serves by itself, by path. */
  pages: Pages = new Map(),
): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  const proxy = { recording: Buffer.alloc(0) };
  const server = createServer((client) => {
    sockets.add(client);
    client.on("close", () => sockets.delete(client));
    client.on("error", () => {});
    client.setNoDelay(true);
    let head = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      if (!head.includes("\r\n\r\n")) return;
      client.off("data", onData);
      answer(client, head);
    };
    client.on("data", onData);
  });

  const answer = (client: Socket, request: Buffer): void => {
    const text = request.toString("latin1");
    const path = /^[A-Z]+ ([^ ?]*)/.exec(text)?.[1] ?? "/";
    const page = pages.get(path);
    if (page) {
      const body = Buffer.from(page.body);
      client.write(
        `HTTP/1.1 200 OK\r\ncontent-type: ${page.type}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`,
      );
      client.end(body);
      return;
    }
    const cut = numberIn(text, "x-cut");
    if (cut !== undefined) {
      client.write(proxy.recording.subarray(0, cut), () => client.destroy());
      if (cut === 0) client.destroy();
      return;
    }
    const limit = numberIn(text, "x-limit") ?? Number.POSITIVE_INFINITY;
    let passed = 0;
    const host = connect(hostPort, "127.0.0.1");
    sockets.add(host);
    host.on("close", () => sockets.delete(host));
    host.setNoDelay(true);
    host.on("error", () => client.destroy());
    client.on("error", () => host.destroy());
    // Reset where nothing was said to end, so that thousands of connections leave no port that has to wait.
    client.on("close", () => (host.writable ? host.resetAndDestroy() : host.destroy()));
    host.write(
      request.toString("latin1").replace(/\r\n\r\n/, "\r\nconnection: close\r\n\r\n"),
      "latin1",
    );
    client.on("data", (chunk: Buffer) => host.write(chunk));
    host.on("data", (chunk: Buffer) => {
      const rest = limit - passed;
      passed += chunk.length;
      if (chunk.length < rest) client.write(chunk);
      else client.write(chunk.subarray(0, rest), () => client.destroy());
    });
    host.on("end", () => client.end());
  };

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    get recording() {
      return proxy.recording;
    },
    set recording(bytes: Buffer) {
      proxy.recording = bytes;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function numberIn(request: string, header: string): number | undefined {
  const value = new RegExp(`^${header}: (\\d+)\\r$`, "im").exec(request)?.[1];
  return value === undefined ? undefined : Number(value);
}

export interface Recording {
  /** Settles once the mark has come. */
  seen(mark: string): Promise<void>;
  /** Ends with the frame that holds the mark; all that came. */
  until(mark: string): Promise<Buffer>;
}

/** The raw bytes of an event stream, as they come on the wire from now on. */
export async function record(port: number, path: string, token: string): Promise<Recording> {
  const socket = connect(port, "127.0.0.1");
  let received = Buffer.alloc(0);
  let changed = Promise.withResolvers<void>();
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    changed.resolve();
    changed = Promise.withResolvers<void>();
  });
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\naccept: text/event-stream\r\n\r\n`,
  );
  const seen = async (mark: string): Promise<void> => {
    while (!received.includes(mark)) await changed.promise;
  };
  // The baseline is of what stood before anything else is asked of the host.
  await seen("event: baseline");
  return {
    seen,
    until: async (mark) => {
      await seen(mark);
      while (!received.subarray(received.indexOf(mark)).includes("\n\n")) await changed.promise;
      socket.destroy();
      return received;
    },
  };
}
