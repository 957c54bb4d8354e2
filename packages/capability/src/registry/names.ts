// Names that code can use: friendly JavaScript identifiers made of any text, and those that would hide something else.

const longest = 64;

/** A JavaScript identifier of ASCII letters, digits, `_` and `$` that reads like `text`; `otherwise` where nothing of it is left. */
export function identifierOf(text: string, otherwise: string): string {
  const plain = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .replace(/[^A-Za-z0-9_$]+/g, "_")
    .slice(0, longest)
    .replace(/^_+(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])_+$/g, "");
  if (!/[A-Za-z0-9]/.test(plain)) return otherwise;
  return /^[0-9]/.test(plain) ? `_${plain}`.slice(0, longest) : plain;
}

/**
 * `name`, or the first of `name2`, `name3`… that is free. `counts` remembers how far each name was tried, where many are
 * asked for at once and none becomes free meanwhile.
 */
export function freeName(
  name: string,
  isFree: (name: string) => boolean,
  counts?: Map<string, number>,
): string {
  for (let count = counts?.get(name) ?? 1; ; count++) {
    const end = count === 1 ? "" : String(count);
    const tried = `${name.slice(0, longest - end.length)}${end}`;
    if (!isFree(tried)) continue;
    counts?.set(name, count + 1);
    return tried;
  }
}

const words = (text: string): ReadonlySet<string> =>
  new Set(text.toLowerCase().split(/\s+/).filter(Boolean));

/** Words of the language and globals of the guest, in lower case. */
const reservedNamespaces = words(`
  arguments as async await break case catch class const continue debugger default delete do else enum eval export extends
  false finally for from function get if implements import in instanceof interface let new null of package private
  protected public return set static super switch this throw true try typeof undefined using var void while with yield
  Infinity NaN globalThis global self window document
  AggregateError AsyncDisposableStack DisposableStack DOMException Array ArrayBuffer AsyncFunction AsyncIterator Atomics BigInt BigInt64Array BigUint64Array Boolean Buffer
  DataView Date decodeURI decodeURIComponent encodeURI encodeURIComponent Error escape EvalError FinalizationRegistry
  Float16Array Float32Array Float64Array Function Generator Int16Array Int32Array Int8Array InternalError isFinite isNaN
  Iterator JSON Map Math Number Object parseFloat parseInt performance Promise Proxy queueMicrotask RangeError
  ReferenceError Reflect RegExp Set SharedArrayBuffer String structuredClone SuppressedError Symbol SyntaxError
  TextDecoder TextEncoder TypeError Uint16Array Uint32Array Uint8Array Uint8ClampedArray unescape URIError URL
  URLSearchParams WeakMap WeakRef WeakSet AbortController AbortSignal Blob Event EventTarget FormData Headers Request
  Response atob btoa clearInterval clearTimeout crypto fetch process require module exports setImmediate setInterval
  setTimeout console print std os bjson scriptArgs navigator
  capability capabilities describe display execute help host image lichen list operations program progress result
  search tools types`);

/** Names that an object has by itself, and what makes a promise of it. */
const reservedProperties = words(`
  then constructor prototype __proto__ __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__
  hasOwnProperty isPrototypeOf propertyIsEnumerable toJSON toLocaleString toString valueOf`);

export function isReservedNamespace(name: string): boolean {
  return reservedNamespaces.has(name.toLowerCase());
}

export function isReservedProperty(name: string): boolean {
  return reservedProperties.has(name.toLowerCase());
}
