// Tells who a request comes from, by its bearer token or its cookie, or by the line that it came over.
//
//   A socket of one session's processes makes whatever comes over it that session's, whatever else it brings.
//   A bearer token that is not known is nobody: no other proof is looked for.
//   Tokens are known by their SHA-256 alone and compared in constant time.
//   Browsers keep cookies by name and host and not by port, so each host's cookie has a name of its own.
//   A cookie says nothing of the token it was exchanged for: it is a signed name with an end, and it is void as soon
//   as its token is (rotated or revoked).
//   Whatever else listens on the same computer, an agent's web server too, is sent the cookie of who looks at it, and could
//   bring it here. So it counts only beside a word that pages of this very port keep and say in a header.

import type { Arrival } from "./arrival.ts";
import { isEqual, sign } from "./proof.ts";
import type { Principal } from "./rights.ts";

/** A token as a host keeps it. */
export interface KnownToken {
  /** `owner`, or `tok_…`. */
  readonly id: string;
  /** SHA-256 of the token in hex. */
  readonly sha256: string;
  readonly principal: Principal;
}

/** What a door needs of the place that keeps tokens. */
export interface TokenBook {
  /** The tokens that are good now. */
  tokens(): readonly KnownToken[];
  sha256(text: string): string;
  /** HMAC-SHA-256 of the text under the owner's token, in hex. */
  prove(text: string): Promise<string>;
}

/** Who may come in beside those whose tokens the host keeps: devices, by their keys or by what a mesh proves. */
export interface Visitors {
  /** The keys that are good now. */
  keys(): readonly KnownToken[];
  /** Who stands behind the address that a request came from; undefined for nobody that is known. */
  ofLine(arrival: Arrival): Promise<Principal | undefined>;
  /** A request of a device begins, and may be hung up on from now on; false where the device is none any more. */
  enter(device: string, arrival: Arrival | undefined): boolean;
}

/** The header in which a page says its word. */
const pageHeader = "lichen-page";
const cookieSeconds = 30 * 24 * 3_600;
const nobody: Principal = { kind: "none" };

export class Credentials {
  readonly #book: TokenBook;
  readonly #now: () => number;
  readonly #visitors: Visitors | undefined;

  constructor(book: TokenBook, now: () => number, visitors?: Visitors) {
    this.#book = book;
    this.#now = now;
    this.#visitors = visitors;
  }

  /** Who asks. A bearer token is decided at once; a cookie, or an address, needs to be waited for. */
  identify(headers: Headers, arrival?: Arrival): Principal | Promise<Principal> {
    const principal = this.#principalOf(headers, arrival);
    if (principal instanceof Promise) return principal.then((who) => this.#entered(who, arrival));
    return this.#entered(principal, arrival);
  }

  #entered(principal: Principal, arrival: Arrival | undefined): Principal {
    if (!("device" in principal) || principal.device === undefined) return principal;
    return this.#visitors?.enter(principal.device, arrival) === true ? principal : nobody;
  }

  #principalOf(headers: Headers, arrival: Arrival | undefined): Principal | Promise<Principal> {
    if (arrival?.principal) return arrival.principal;
    const authorization = headers.get("authorization");
    if (authorization !== null) {
      const bearer = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization);
      return (bearer && this.#known(bearer[1]!)?.principal) ?? nobody;
    }
    const cookie = headers.get("cookie");
    const page = headers.get(pageHeader);
    if (cookie !== null && page !== null) return this.#ofCookies(cookie, page, arrival);
    return this.#ofLine(arrival);
  }

  #ofLine(arrival: Arrival | undefined): Principal | Promise<Principal> {
    if (!this.#visitors || arrival?.from === undefined) return nobody;
    return this.#visitors.ofLine(arrival).then((found) => found ?? nobody);
  }

  #tokens(): readonly KnownToken[] {
    const own = this.#book.tokens();
    return this.#visitors ? [...own, ...this.#visitors.keys()] : own;
  }

  /** HMAC-SHA-256 of the text under the digest of a device's key, in hex; undefined for no device that has one. */
  proveTo(device: string, text: string): Promise<string> | undefined {
    const known = this.#visitors?.keys().find(({ id }) => id === device);
    return known && sign(known.sha256, text);
  }

  /** The value of `Set-Cookie` for a good token, and the word that pages say beside it; undefined for another token. */
  async exchange(
    token: string,
    isSecure: boolean,
  ): Promise<{ readonly cookie: string; readonly page: string } | undefined> {
    const known = this.#known(token);
    if (!known) return undefined;
    const end = Math.floor(this.#now() / 1000) + cookieSeconds;
    const value = `${known.id}.${end}.${await seal("cookie", known, end)}`;
    const cookie = this.#setCookie(value, cookieSeconds, isSecure);
    return { cookie, page: await seal("page", known, end) };
  }

  /** The value of `Set-Cookie` that takes the cookie back. */
  revoke(isSecure: boolean): string {
    return this.#setCookie("", 0, isSecure);
  }

  /** Which token this is, compared with every known one whatever the outcome. */
  #known(token: string): KnownToken | undefined {
    const digest = this.#book.sha256(token);
    let found: KnownToken | undefined;
    for (const known of this.#tokens()) if (isEqual(known.sha256, digest)) found = known;
    return found;
  }

  async #ofCookies(header: string, page: string, arrival: Arrival | undefined): Promise<Principal> {
    const name = this.#cookieName();
    for (const pair of header.split(";")) {
      const parts = /^ *([^=]+)=([A-Za-z0-9_-]{1,80})\.(\d{1,12})\.([0-9a-f]{64}) *$/.exec(pair);
      if (parts?.[1] !== name) continue;
      const known = this.#tokens().find((token) => token.id === parts[2]);
      const end = Number(parts[3]);
      if (!known || end * 1000 <= this.#now()) continue;
      const isCookie = isEqual(await seal("cookie", known, end), parts[4]!);
      if (isEqual(await seal("page", known, end), page) && isCookie) return known.principal;
    }
    return this.#ofLine(arrival);
  }

  #cookieName(): string {
    const owner = this.#book.tokens().find((token) => token.id === "owner");
    return `lichen_${this.#book.sha256(`cookie name ${owner?.sha256}`).slice(0, 8)}`;
  }

  /** No script reads the cookie, and no other site's page sends it. */
  #setCookie(value: string, seconds: number, isSecure: boolean): string {
    const secure = isSecure ? "; Secure" : "";
    return `${this.#cookieName()}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  }
}

function seal(half: "cookie" | "page", { id, sha256 }: KnownToken, end: number): Promise<string> {
  return sign(sha256, `${half} ${id} ${end}`);
}
