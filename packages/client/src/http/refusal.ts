// What an answer that is no success means: the refusal that it carries, or what its status says where it carries none.
//
//   N4  Every refusal is a `Fault` with the host's code; what never reached a host, or came back torn, is
//       `unavailable` and may be tried again.

import { Fault, type FaultCode, faultStatus } from "@lichen/wire";

/** The most of a refusal's body that is read. */
const bodyCap = 65_536;

export async function refusalOf(response: Response): Promise<Fault> {
  // Answers that lead elsewhere are never followed: a token goes only where it was meant to.
  if (
    String(response.type) === "opaqueredirect" ||
    (response.status >= 300 && response.status < 400)
  )
    return new Fault("unavailable", "The address leads elsewhere: use the one it leads to.", {
      retryable: false,
    });
  const told = toldIn(await bodyOf(response));
  if (!told)
    return new Fault(codeOfStranger(response.status), `The answer was ${response.status}.`);
  const { code, message, retryable } = told;
  return new Fault(isCode(code) ? code : codeOf(response.status), message, { retryable });
}

/** There was no whole answer: the host may have acted or not. */
export function lost(cause: unknown): Fault {
  return new Fault(
    "unavailable",
    "The host cannot be reached, or its answer was lost: try the same again.",
    { cause, retryable: true },
  );
}

/** An answer that no host gives: something else stands at the address. */
export function noHost(cause: unknown): Fault {
  return new Fault("unavailable", "What answers at the address does not speak Lichen's wire.", {
    cause,
    retryable: true,
  });
}

export function recordOf(value: unknown): Record<string, unknown> | undefined {
  return value !== null && typeof value === "object" && !Array.isArray(value)
    ? { ...value }
    : undefined;
}

async function bodyOf(response: Response): Promise<string> {
  try {
    const text = await response.text();
    return text.length > bodyCap ? "" : text;
  } catch {
    // The status alone says enough.
    return "";
  }
}

function toldIn(body: string): { code: string; message: string; retryable: boolean } | undefined {
  let error: Record<string, unknown> | undefined;
  try {
    error = recordOf(recordOf(JSON.parse(body))?.["error"]);
  } catch {
    // Not a host's own words: a proxy's page.
    return undefined;
  }
  const { code, message, retryable } = error ?? {};
  return typeof code === "string" && typeof message === "string"
    ? { code, message, retryable: retryable === true }
    : undefined;
}

function isCode(code: string): code is FaultCode {
  return Object.hasOwn(faultStatus, code);
}

/** The general code of a status, for the codes of a newer host. */
function codeOf(status: number): FaultCode {
  if (status === 404) return "unknown_route";
  if (status === 409) return "conflict";
  return codeOfStranger(status);
}

/**
 * What a status says by itself: an answer of a proxy, or one that was cut in its head (a browser takes `HTTP/1.1 20` for
 * the status 20). What only a host can know, such as what exists, is not taken from a stranger.
 */
function codeOfStranger(status: number): FaultCode {
  const exact: Record<number, FaultCode> = {
    401: "unauthenticated",
    403: "denied",
    413: "too_large",
    415: "unsupported_media",
    429: "capacity",
    500: "internal",
  };
  const isOthers = status < 400 || status >= 500 || [404, 408, 409].includes(status);
  return exact[status] ?? (isOthers ? "unavailable" : "invalid");
}
