// What a device may be called: its name stands by everything that it does, so no two look alike and none says what it
// is not.

import { Fault } from "@lichen/wire";

const longest = 64;

/** Authors that are no device. */
const reserved = ["auto-approve", "this machine", "owner", "lichen"];

/** The name as it is kept: composed, trimmed, single spaces. Throws `invalid` with what is wrong. */
export function checkedDeviceName(given: string): string {
  const name = given
    .normalize("NFC")
    // Asks for a coloured picture; the picture is the same.
    .replaceAll("\ufe0f", "")
    .trim()
    .replace(/\s+/gu, " ");
  const length = Array.from(name).length;
  if (length === 0 || length > longest)
    throw new Fault("invalid", `name: 1 to ${longest} characters`);
  if (/[\p{C}\p{Zl}\p{Zp}\p{DI}\u2800]/u.test(name))
    throw new Fault("invalid", "name: only characters that can be seen, and spaces");
  if (!/[\p{L}\p{N}\p{S}]/u.test(name))
    throw new Fault("invalid", "name: at least one letter, digit or picture");
  const look = lookOf(name);
  if (reserved.some((it) => lookOf(it) === look))
    throw new Fault("invalid", `name: ${name} says something else here: choose another`);
  return name;
}

/** What a name looks like at a glance: two names with one look are one name to whoever reads them. */
export function lookOf(name: string): string {
  const plain = name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toUpperCase()
    .toLowerCase()
    .normalize("NFKD")
    .replace(/\p{M}/gu, "");
  const letters = Array.from(plain, (letter) => lookAlikes.get(letter) ?? letter).join("");
  const look = letters.replaceAll("rn", "m").replace(/[\s\p{P}]+/gu, "-");
  return look.replace(/^-|-$/g, "") || look;
}

/** Small letters and digits of other kinds by the Latin one that they look like. */
const lookAlikes = new Map(
  Object.entries({
    a: "аαɑ",
    b: "ьƅ",
    c: "сϲⅽ",
    d: "ԁⅾ",
    e: "еҽєε",
    f: "ƒ",
    g: "ɡցг",
    h: "һհн",
    j: "јϳ",
    k: "кκ",
    l: "iI1|ıіιӏⅼɩӀ",
    m: "мⅿ",
    n: "ոпη",
    o: "0оοօσ",
    p: "рρ",
    q: "ԛգ",
    r: "гᴦ",
    s: "ѕꜱ",
    t: "тτ",
    u: "υսʋ",
    v: "ѵνⅴ",
    w: "ԝωш",
    x: "хχⅹ",
    y: "уγү",
    z: "ᴢ",
  }).flatMap(([latin, others]) => Array.from(others, (other): [string, string] => [other, latin])),
);
