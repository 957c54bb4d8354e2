// What a run does by itself while it waits for people.
//
//   It only waits where a person is asked and no call runs but those that ask one: then nothing ends without an answer.

export class Waiting {
  #people = 0;
  /** Of those that are asked, the ones that a running call asks. */
  #askedInCalls = 0;
  #calls = 0;
  #told: (() => void)[] = [];

  get isForPeople(): boolean {
    return this.#people > 0;
  }

  get isAll(): boolean {
    return this.#people > 0 && this.#calls <= this.#askedInCalls;
  }

  /** A person is asked, until what this answers is called; `inCall`: by a call that runs. */
  person(inCall: boolean): () => void {
    const asked = inCall ? 1 : 0;
    this.#people++;
    this.#askedInCalls += asked;
    this.#changed();
    return once(() => {
      this.#people--;
      this.#askedInCalls -= asked;
      this.#changed();
    });
  }

  /** A call runs, until what this answers is called. */
  call(): () => void {
    this.#calls++;
    return once(() => {
      this.#calls--;
      this.#changed();
    });
  }

  /** Settles when the run only waits. */
  whenAll(): Promise<void> {
    if (this.isAll) return Promise.resolve();
    return new Promise((resolve) => void this.#told.push(resolve));
  }

  #changed(): void {
    if (!this.isAll) return;
    for (const tell of this.#told.splice(0)) tell();
  }
}

function once(end: () => void): () => void {
  let isEnded = false;
  return () => {
    if (isEnded) return;
    isEnded = true;
    end();
  };
}
