// What a connection's latest requests were authorised with, for as long as it is open and only so that nothing of it comes
// back: an answer may come long after its request, on a stream of another one.

import type { Auth } from "../../auth/resolver.ts";
import { Redactor } from "../../secrets/redactor.ts";
import { secretsOf } from "../../secrets/secrets-of.ts";

const most = 8;

export class SentSecrets {
  #secrets: readonly (readonly string[])[] = [];
  redactor = new Redactor([]);

  take(auth: Auth): void {
    const secrets = secretsOf(auth);
    const [latest] = this.#secrets;
    if (secrets.length === 0 || latest?.join(" ") === secrets.join(" ")) return;
    this.#secrets = [secrets, ...this.#secrets].slice(0, most);
    this.redactor = new Redactor(this.#secrets.flat());
  }
}
