// The guest's side of the border, as source: it runs in a fresh VM before any code of a program does.
//
//   X1  It uses only what it captured: whatever a program overwrites later, the bridge works as before.
//   X2  Only strings, numbers and booleans cross. JSON is written and read here, in the guest, by its own rules.
//   X3  Open calls live in its table, by ordinal, with what they asked for: a restored guest can be asked for them.
//
// So there is no for-of, no spread, no destructuring of arrays and no method call on a value below: each would look
// something up that a program may have replaced.

import { limits } from "./limits.ts";

export const bridgeSource = String.raw`(function (host) {
"use strict";
const { apply, getPrototypeOf } = Reflect;
const { create, defineProperty, freeze, keys } = Object;
const { isArray } = Array;
const { parse, stringify } = JSON;
const NativeMap = Map, NativePromise = Promise, NativeProxy = Proxy, NativeBytes = Uint8Array;
const NativeError = Error, NativeTypeError = TypeError, NativeRangeError = RangeError;
const mapGet = Map.prototype.get, mapSet = Map.prototype.set, mapDelete = Map.prototype.delete;
const mapForEach = Map.prototype.forEach;
const slice = String.prototype.slice, symbolText = Symbol.prototype.toString, bigText = BigInt.prototype.toString;
const isPrototypeOf = Object.prototype.isPrototypeOf;
const errorPrototype = Error.prototype, promisePrototype = Promise.prototype;
const mapPrototype = Map.prototype, setPrototype = Set.prototype, bufferPrototype = ArrayBuffer.prototype;
const typedPrototype = getPrototypeOf(Uint8Array.prototype);
const getter = (object, name) => Reflect.getOwnPropertyDescriptor(object, name).get;
const typedBuffer = getter(typedPrototype, "buffer");
const typedOffset = getter(typedPrototype, "byteOffset");
const typedLength = getter(typedPrototype, "byteLength");
const fromHex = parseInt;

const maxDepth = ${limits.depth}, maxInput = ${limits.inputBytes}, maxResult = ${limits.resultBytes};
const maxPrinted = ${limits.printedBytes}, maxMessage = ${limits.messageLength}, maxOpen = ${limits.openCalls};

// A refusal is remembered by identity, so that code cannot pass an error of its own off as one.
let refusal, refusalReason;
function refuse(reason, message) {
  refusal = failure(NativeTypeError, reason === "limit" ? "limit" : "invalid_json", message);
  refusalReason = reason;
  return refusal;
}
function failure(Kind, code, message) {
  const error = new Kind(message);
  defineProperty(error, "code", { __proto__: null, value: code, enumerable: true, writable: true, configurable: true });
  return error;
}
function isA(prototype, value) {
  return apply(isPrototypeOf, prototype, [value]);
}

// Writes JSON, or throws a refusal that says what stands in the way. The budget counts what was written so far.
function write(what, value, key, depth, above, budget) {
  if (value === null) return "null";
  const type = typeof value;
  if (type === "undefined") return undefined;
  if (type === "boolean") return value ? "true" : "false";
  if (type === "number") {
    if (value !== value || value === Infinity || value === -Infinity)
      throw refuse("error", what + ' holds ' + value + place(key) + ', which JSON cannot say: use null or a string.');
    return "" + value;
  }
  if (type === "string") {
    if (value.length > budget.left) throw tooLarge(what, budget);
    const text = stringify(value);
    spend(what, budget, text.length);
    return text;
  }
  if (type === "bigint") throw refuse("error", what + ' holds a BigInt' + place(key) + ': use Number(it) or String(it).');
  if (type === "symbol") throw refuse("error", what + ' holds a symbol' + place(key) + ': only JSON can leave the program.');
  if (type === "function") throw refuse("error", what + ' holds a function' + place(key) + ': only JSON can leave the program.');
  if (depth > maxDepth) throw refuse("limit", what + " is deeper than " + maxDepth + " levels: flatten it.");
  for (let at = above; at !== null; at = at.above)
    if (at.value === value) throw refuse("error", what + ' holds itself' + place(key) + ': JSON has no cycles.');
  if (isA(promisePrototype, value)) throw refuse("error", what + ' holds a Promise' + place(key) + ': await it first.');
  const toJson = value.toJSON;
  const here = { __proto__: null, value, above };
  if (typeof toJson === "function") return write(what, apply(toJson, value, [key]), key, depth + 1, here, budget);
  if (isA(mapPrototype, value) || isA(setPrototype, value))
    throw refuse("error", what + ' holds a Map or Set' + place(key) + ': use Object.fromEntries(it) or [...it].');
  if (isA(typedPrototype, value) || isA(bufferPrototype, value))
    throw refuse("error", what + ' holds bytes' + place(key) + ': use Array.from(it) or a string.');
  spend(what, budget, 2);
  let text = "";
  if (isArray(value)) {
    const length = value.length;
    for (let at = 0; at < length; at++) {
      spend(what, budget, 1);
      const item = write(what, value[at], "" + at, depth + 1, here, budget);
      text += (at === 0 ? "" : ",") + (item === undefined ? "null" : item);
    }
    return "[" + text + "]";
  }
  const names = keys(value);
  if (isA(errorPrototype, value)) {
    const start = errorParts(value);
    text = '"name":' + stringify(start.name) + ',"message":' + stringify(start.message);
    spend(what, budget, text.length);
  }
  for (let at = 0; at < names.length; at++) {
    const name = names[at];
    if (name === "__proto__") throw refuse("error", what + ' has a field named __proto__, which is refused: rename it.');
    const item = write(what, value[name], name, depth + 1, here, budget);
    if (item === undefined) continue;
    spend(what, budget, name.length + 4);
    text += (text === "" ? "" : ",") + stringify(name) + ":" + item;
  }
  return "{" + text + "}";
}
function place(key) {
  return key === "" ? "" : ' at "' + cut(key) + '"';
}
function spend(what, budget, amount) {
  budget.left -= amount;
  if (budget.left < 0) throw tooLarge(what, budget);
}
function tooLarge(what, budget) {
  return refuse("limit", what + " is larger than " + budget.most / 1024 + " KiB: " + budget.advice);
}
function json(what, value, most, advice) {
  return write(what, value, "", 1, null, { __proto__: null, left: most, most, advice });
}

function string(value, otherwise) {
  return typeof value === "string" ? cut(value) : otherwise;
}
function cut(text) {
  return text.length > maxMessage ? apply(slice, text, [0, maxMessage]) : text;
}
function errorParts(error) {
  return {
    __proto__: null,
    name: string(error.name, "Error"),
    message: string(error.message, ""),
    code: string(error.code, ""),
    stack: string(error.stack, ""),
  };
}

// Operations: a function each, made when it is first asked for.
const table = new NativeMap();
let calls = 0, open = 0, ended = false;

function call(namespace, operation, count, input) {
  const name = namespace + "." + operation;
  if (ended) throw failure(NativeError, "ended", "The program has ended: " + name + " was not called.");
  if (count > 1)
    throw failure(NativeTypeError, "invalid_input", name + " takes one object with all its fields, not " + count + " arguments.");
  if (open >= maxOpen)
    throw failure(NativeRangeError, "limit", maxOpen + " calls are open already: await some before " + name + " is called.");
  const text = input === undefined ? undefined : json("The input of " + name, input, maxInput, "send less, or in parts.");
  const entry = { __proto__: null, namespace, operation, text, resolve: undefined, reject: undefined };
  const promise = new NativePromise((resolve, reject) => {
    entry.resolve = resolve;
    entry.reject = reject;
  });
  apply(mapSet, table, [calls, entry]);
  calls++;
  open++;
  if (text === undefined) host("call", namespace, operation);
  else host("call", namespace, operation, text);
  return promise;
}

function operationNamed(namespace, name) {
  const it = (...given) => {
    try {
      return call(namespace, name, given.length, given.length > 0 ? given[0] : undefined);
    } catch (error) {
      return new NativePromise((_, reject) => reject(error));
    }
  };
  defineProperty(it, "name", { __proto__: null, value: name });
  return freeze(it);
}

function namespaceNamed(namespace) {
  const made = create(null);
  const make = (name) => made[name] ?? (made[name] = operationNamed(namespace, name));
  const find = (name) => {
    if (typeof name !== "string") return undefined;
    return made[name] ?? (host("has", namespace, name) ? make(name) : undefined);
  };
  const closed = () => {
    throw failure(NativeTypeError, "invalid_input", namespace + " holds operations only and cannot be changed.");
  };
  const all = create(null);
  const handler = {
    __proto__: null,
    get(_, name) {
      const it = find(name);
      if (it !== undefined || typeof name !== "string" || name === "then" || name === "toJSON") return it;
      throw failure(NativeTypeError, "unknown_operation", host("near", namespace, cut(name)));
    },
    has: (_, name) => find(name) !== undefined,
    // Whoever wants all of them has them as plain properties from then on: traps for each name of a thousand are slow.
    ownKeys() {
      const names = parse(host("names", namespace));
      for (let at = 0; at < names.length; at++) all[names[at]] = make(names[at]);
      handler.ownKeys = handler.getOwnPropertyDescriptor = undefined;
      return names;
    },
    getOwnPropertyDescriptor(_, name) {
      const value = find(name);
      return value === undefined
        ? undefined
        : { __proto__: null, value, enumerable: true, configurable: true, writable: true };
    },
    getPrototypeOf: () => null,
    setPrototypeOf: closed,
    preventExtensions: closed,
    defineProperty: closed,
    deleteProperty: closed,
    set: closed,
  };
  return new NativeProxy(all, handler);
}

// What code prints.
let printed = 0;
function show(value) {
  const type = typeof value;
  if (type === "string") return value.length > maxPrinted ? apply(slice, value, [0, maxPrinted]) : value;
  if (type === "symbol") return apply(symbolText, value, []);
  if (type === "bigint") return apply(bigText, value, []) + "n";
  if (type === "function") return "[function]";
  if (type !== "object" || value === null) return "" + value;
  try {
    if (isA(errorPrototype, value)) {
      const { name, message, code } = errorParts(value);
      return name + ": " + message + (code === "" ? "" : " [" + code + "]");
    }
    const text = json("It", value, maxPrinted, "print less.");
    return text === undefined ? "undefined" : text;
  } catch (error) {
    return error === refusal ? "[" + error.message + "]" : "[an object that cannot be shown]";
  }
}
function print() {
  if (printed > maxPrinted) return;
  let line = "";
  for (let at = 0; at < arguments.length && line.length <= maxPrinted; at++)
    line += (at === 0 ? "" : " ") + show(arguments[at]);
  printed += line.length + 1;
  host("print", line + "\n");
}

// Randomness from the seed: sfc32 for Math.random, a keyed hash of the host's for crypto.
let a = 0, b = 0, c = 0, d = 1;
function next() {
  const t = (((a + b) | 0) + d) | 0;
  d = (d + 1) | 0;
  a = b ^ (b >>> 9);
  b = (c + (c << 3)) | 0;
  c = (c << 21) | (c >>> 11);
  c = (c + t) | 0;
  return t >>> 0;
}
const cryptography = {
  randomUUID() {
    const hex = host("random", 16);
    const part = (from, to) => apply(slice, hex, [from, to]);
    const variant = "89ab"[fromHex(hex[16], 16) & 3];
    return part(0, 8) + "-" + part(8, 12) + "-4" + part(13, 16) + "-" + variant + part(17, 20) + "-" + part(20, 32);
  },
  getRandomValues(array) {
    const length = apply(typedLength, array, []);
    if (length > 65536) throw new NativeRangeError("getRandomValues gives at most 65536 bytes at once.");
    const bytes = new NativeBytes(apply(typedBuffer, array, []), apply(typedOffset, array, []), length);
    const hex = host("random", length);
    for (let at = 0; at < length; at++) bytes[at] = fromHex(hex[2 * at] + hex[2 * at + 1], 16);
    return array;
  },
};

function put(object, name, value, isFixed) {
  defineProperty(object, name, { __proto__: null, value, enumerable: false, writable: !isFixed, configurable: !isFixed });
}
function fix(object) {
  const names = keys(object);
  for (let at = 0; at < names.length; at++) freeze(object[names[at]]);
  return freeze(object);
}
put(Math, "random", () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992, false);
put(Error, "prepareStackTrace", undefined, true);
put(globalThis, "console", fix({ log: print, info: print, debug: print, warn: print, error: print }), false);
put(globalThis, "crypto", fix(cryptography), false);
delete globalThis.SharedArrayBuffer;
delete globalThis.Atomics;

function finish(ok, value) {
  ended = true;
  try {
    if (ok) {
      const text = json("The result", value, maxResult, "return less, only what is needed.");
      if (text === undefined) host("done");
      else host("done", text);
      return;
    }
  } catch (error) {
    value = error;
    if (error === refusal) return host("failed", refusalReason, refusal.message, "");
  }
  try {
    if (typeof value === "object" && value !== null && (isA(errorPrototype, value) || typeof value.message === "string")) {
      const { name, message, code, stack } = errorParts(value);
      return host("failed", "error", name + ": " + message + (code === "" ? "" : " [" + code + "]"), stack);
    }
    return host("failed", "error", "The code threw " + cut(show(value)), "");
  } catch {
    return host("failed", "error", "The code threw something that cannot be shown.", "");
  }
}

return freeze({
  __proto__: null,
  setup(namespaces, s0, s1, s2, s3) {
    a = s0; b = s1; c = s2; d = s3;
    const names = parse(namespaces);
    for (let at = 0; at < names.length; at++)
      defineProperty(globalThis, names[at], { __proto__: null, value: namespaceNamed(names[at]), enumerable: true });
  },
  run(program) {
    (async () => {
      let value;
      try {
        value = await apply(program, undefined, []);
      } catch (error) {
        return finish(false, error);
      }
      finish(true, value);
    })();
  },
  deliver(ordinal, ok, first, second) {
    const entry = apply(mapGet, table, [ordinal]);
    apply(mapDelete, table, [ordinal]);
    open--;
    if (ok) return entry.resolve(first === undefined ? undefined : parse(first));
    const error = failure(NativeError, first, second);
    put(error, "name", "OperationError", false);
    put(error, "stack", "OperationError: " + second, false);
    entry.reject(error);
  },
  open() {
    let text = "";
    apply(mapForEach, table, [(entry, ordinal) => {
      text += (text === "" ? "" : ",") + '{"ordinal":' + ordinal + ',"namespace":' + stringify(entry.namespace) +
        ',"operation":' + stringify(entry.operation) + (entry.text === undefined ? "" : ',"input":' + stringify(entry.text)) + "}";
    }]);
    return "[" + text + "]";
  },
});
})`;
