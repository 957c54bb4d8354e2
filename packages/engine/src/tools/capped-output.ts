// The output of a program, however long it gets: its first and last bytes, and how much lies between.

export class CappedOutput {
  readonly #headBytes: number;
  readonly #tailBytes: number;
  readonly #head: Uint8Array[] = [];
  readonly #tail: Uint8Array[] = [];
  #headSize = 0;
  #tailSize = 0;
  #dropped = 0;

  constructor(limitBytes: number) {
    this.#headBytes = Math.floor(limitBytes * 0.4);
    this.#tailBytes = limitBytes - this.#headBytes;
  }

  get isCut(): boolean {
    return this.#dropped > 0;
  }

  push(chunk: Uint8Array): void {
    const room = this.#headBytes - this.#headSize;
    const first = chunk.subarray(0, room);
    if (first.length > 0) {
      this.#head.push(first.slice());
      this.#headSize += first.length;
    }
    const rest = chunk.subarray(first.length);
    if (rest.length === 0) return;
    this.#tail.push(rest.slice());
    this.#tailSize += rest.length;
    while (this.#tailSize > this.#tailBytes) {
      const oldest = this.#tail[0];
      if (!oldest) return;
      const excess = Math.min(oldest.length, this.#tailSize - this.#tailBytes);
      if (excess === oldest.length) this.#tail.shift();
      else this.#tail[0] = oldest.subarray(excess);
      this.#tailSize -= excess;
      this.#dropped += excess;
    }
  }

  text(): string {
    const head = joined(this.#head);
    const tail = joined(this.#tail);
    if (this.#dropped === 0) return decoded(joined([head, tail]));
    // A cut in the middle of a character shows no broken one.
    let start = 0;
    while (start < 4 && isContinuation(tail[start])) start++;
    const notice = `\n[… ${this.#dropped} bytes left out; send the output to a file to read all of it …]\n`;
    return wholeCharacters(head) + notice + decoded(tail.subarray(start));
  }
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((size, chunk) => size + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

function decoded(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function wholeCharacters(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes, { stream: true });
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
