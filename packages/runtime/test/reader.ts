// A reader of a session for tests: it keeps what it is told, and takes as much as the test says.

import type { Frame, Session } from "../src/index.ts";

/** Takes what it is given, or as much as the test says. */
class Reader {
  readonly frames: Frame[] = [];
  takes = Number.POSITIVE_INFINITY;
  ended: string | undefined;

  frame(frame: Frame): boolean {
    this.frames.push(frame);
    return --this.takes > 0;
  }

  end(reason: string): void {
    this.ended = reason;
  }

  get seqs(): number[] {
    return this.frames.flatMap((it) => (it.type === "entry" ? [it.data.seq] : []));
  }

  get types(): string[] {
    return this.frames.map((it) => it.type);
  }
}

export function reading(
  session: Session,
  after?: string,
): Reader & { resume(): void; close(): void } {
  const reader = new Reader();
  const subscription = session.observe(reader, after === undefined ? {} : { after });
  return Object.assign(reader, {
    resume: () => {
      reader.takes = Number.POSITIVE_INFINITY;
      subscription.resume();
    },
    close: () => subscription.close(),
  });
}
