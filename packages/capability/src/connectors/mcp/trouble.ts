// What a connection's failures are told as. A server's words are bounded and cleaned before anybody reads them.

import { OperationError } from "../../failure.ts";
import { visible } from "../../visible.ts";

/** The code of the answer that `gate.ts` gives where no answer can come any more. */
export const lostCode = -32_099;
/** The code of the answer that stands for one which is none; its message says what is wrong with it. */
export const malformedCode = -32_098;

const unknownEffect = "Whether the call took effect is not known: check before you repeat it.";

const most = 2_000;
// oxlint-disable-next-line no-control-regex -- they are what is taken out
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Text of a server for an error or a description: nothing unseen, no control characters but line breaks and tabs, bounded. */
export function plain(text: string, limit = most): string {
  const clean = visible(text).replace(controls, " ");
  if (clean.length <= limit) return clean.toWellFormed();
  return `${clean.slice(0, limit).toWellFormed()} … (${clean.length} characters in all)`;
}

export interface Troubled {
  /** What people call it. */
  readonly server: string;
  /** How its program ended, where it did. */
  readonly ending?: string | undefined;
  /** What its program said that is no message. */
  readonly noise?: string | undefined;
  /** A call was sent; else the connection was opened, or asked for a list. */
  readonly isCall: boolean;
}

/** A failed call or connection as an `OperationError`. */
export function asTrouble(
  error: unknown,
  { server, ending, noise, isCall }: Troubled,
): OperationError {
  const told = (code: string, ...sentences: (string | undefined)[]) =>
    new OperationError(code, sentences.filter((one) => one).join(" "), { cause: error });
  const effect = isCall ? unknownEffect : undefined;
  const chain = causes(error);
  const own = chain.find((one) => one instanceof OperationError);
  if (own?.code === "too_large") return told(own.code, own.message, effect);
  if (own && own.code !== "unreachable") return own;
  if (own) {
    const isUnsent = /\((?:ECONNREFUSED|ENOTFOUND|EHOSTUNREACH)\)\.$/.test(own.message);
    const said = own.message.replace(/\.$/, "");
    return isUnsent || !isCall
      ? told("unavailable", `${said}.`, "Try again later.")
      : told("unavailable", `${said} before it answered.`, effect);
  }
  const code = chain.map(codeOf).find((one) => one !== undefined);
  const status = chain.map(statusOf).find((one) => one !== undefined);
  const words = plain(chain.at(0)?.message ?? String(error));
  if (status === 401)
    return told(
      "auth_refused",
      `${server} refused the credentials of this connection: sign in again, or correct its secret.`,
    );
  const narrow = chain.find((one) => one.name === "InsufficientScopeError");
  if (narrow) {
    const scope = "requiredScope" in narrow ? narrow.requiredScope : undefined;
    const wanted =
      typeof scope === "string"
        ? ` with the scopes "${plain(scope, 500)}" besides those it has`
        : "";
    return told(
      "auth_insufficient_scope",
      `${server} wants more rights than were granted: sign in again${wanted}.`,
    );
  }
  if (status !== undefined)
    return told(
      status >= 500 ? "unavailable" : `http_${status}`,
      `${server} answered with HTTP status ${status}: ${words}`,
      status >= 500 && isCall ? `(${unknownEffect})` : undefined,
    );
  if (code === "REQUEST_TIMEOUT")
    return told(
      "timeout",
      `${server} did not answer in time: ${words}.`,
      noise && plain(noise, 400),
      effect ?? "Try again, or ask it for less.",
    );
  if (code === malformedCode || (isCall && code === "INVALID_RESULT"))
    return told(
      isCall ? "invalid_result" : "unavailable",
      `${server} answered with something that is not taken: ${words}.`,
      effect,
    );
  if (code === lostCode || code === "CONNECTION_CLOSED" || code === "NOT_CONNECTED")
    return told(
      "unavailable",
      `The connection to ${server} broke before it answered.`,
      effect,
      ending ?? "The next call opens it anew.",
    );
  // A list of all that is wrong with an answer which is no message helps nobody.
  if (code === "ERA_NEGOTIATION_FAILED" && chain.some(({ name }) => name.endsWith("ZodError")))
    return told(
      "unavailable",
      `${server} does not answer as an MCP server does: see whether its address or command is right.`,
      ending,
    );
  if (ending !== undefined && chain.some((one) => codeOf(one) === "EPIPE"))
    return told("unavailable", `${server} cannot be used.`, ending, effect);
  if (code === "ERA_NEGOTIATION_FAILED" || code === "SEND_FAILED" || typeof code === "string")
    return told("unavailable", `${server} cannot be used: ${words}.`, ending, effect);
  if (code === -32_602) return told("invalid_input", `${server} refused the call: ${words}`);
  if (code === -32_601)
    return isCall
      ? told("unknown_operation", `${server} knows no such thing: ${words}`)
      : told(
          "unavailable",
          `${server} does not answer as an MCP server with tools does (${words}): check the connection's command or address.`,
        );
  if (typeof code === "number")
    return told("mcp_error", `${server} answered with an error: ${words}`);
  return told("unavailable", `${server} cannot be reached: ${words}.`, ending, effect);
}

/** An error and what caused it, at most eight deep, as SDKs nest them. */
function causes(error: unknown): Error[] {
  const found: Error[] = [];
  for (let at: unknown = error; at instanceof Error && found.length < 8; at = at.cause)
    found.push(at);
  return found;
}

function codeOf(error: Error): string | number | undefined {
  if (!("code" in error)) return undefined;
  return typeof error.code === "string" || typeof error.code === "number" ? error.code : undefined;
}

/** Whether the server said that it does not know the session, or no longer does: calls did not reach it. */
export function statusOf(error: unknown): number | undefined {
  for (const one of causes(error)) {
    const data: unknown = "data" in one ? one.data : undefined;
    const holder: unknown = "status" in one ? one : data;
    if (typeof holder === "object" && holder !== null && "status" in holder)
      if (typeof holder.status === "number") return holder.status;
  }
  return undefined;
}
