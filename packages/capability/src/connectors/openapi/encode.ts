// How values are written into paths, queries, headers and cookies, by the styles of OpenAPI. What is written can be read
// in one way only: a value that its style could not tell from another one is refused.

import { OperationError } from "../../failure.ts";
import type { Json } from "../../json.ts";
import { isList, isObject } from "../read-json.ts";
import type { ApiParameter } from "./parameters.ts";

/** What stands in the path in place of `{name}`. */
export function inPath(parameter: ApiParameter, value: Json): string {
  const { name, style, explode } = parameter;
  if (parameter.isJson) return percent(JSON.stringify(value));
  const parts = partsOf(parameter, value);
  const key = percent(name);
  if (style === "matrix") {
    if (explode && isObject(value)) return parts.map((part) => `;${pair(part)}`).join("");
    if (explode || parts.every(({ isOnly }) => isOnly))
      return parts.map(({ text }) => `;${key}=${percent(text)}`).join("");
    return `;${key}=${listed(parts, ",")}`;
  }
  const separator = style === "label" ? "." : ",";
  const written =
    explode && isObject(value)
      ? parts.map((part) => undotted(pair(part), separator)).join(separator)
      : listed(parts, separator);
  return style === "label" ? `.${written}` : written;
}

/** `name=value`, ready for a query: none, one or several. */
export function inQuery(parameter: ApiParameter, value: Json): string[] {
  const { name, style, explode, allowReserved } = parameter;
  const write = allowReserved ? reserved : percent;
  const key = percent(name);
  if (parameter.isJson) return [`${key}=${write(JSON.stringify(value))}`];
  if (style === "deepObject" && (isObject(value) || isList(value)))
    return deep(parameter, key, value, 0).map(([place, text]) => `${place}=${write(text)}`);
  const parts = partsOf(parameter, value);
  if (parts.some(({ isOnly }) => isOnly)) return [`${key}=${write(parts[0]!.text)}`];
  if (style === "form" && explode)
    return parts.map(
      ({ member, text }) => `${member === undefined ? key : percent(member)}=${write(text)}`,
    );
  if (style === "spaceDelimited") return [`${key}=${apart(parameter, parts, " ", "%20")}`];
  if (style === "pipeDelimited") return [`${key}=${apart(parameter, parts, "|", "%7C")}`];
  return [`${key}=${listed(parts, ",")}`];
}

/** The value of a header. */
export function inHeader(parameter: ApiParameter, value: Json): string {
  const text = parameter.isJson ? JSON.stringify(value) : headerText(parameter, value);
  // The controls, and what is beyond a header's one byte a character, have no way to be written.
  if (!/^[\t\u0020-\u007e\u00a0-\u00ff]*$/.test(text) || text.trim() !== text)
    throw refused(
      parameter,
      "a header holds no line breaks, no control characters, no spaces at its ends, and letters of Latin-1 only",
    );
  return text;
}

function headerText(parameter: ApiParameter, value: Json): string {
  const parts = partsOf(parameter, value);
  if (parts.some(({ isOnly }) => isOnly)) return parts[0]!.text;
  const written = parts.flatMap(({ member, text }) => {
    const both = member === undefined ? [text] : [member, text];
    if (both.some((it) => it === "" || /[,=]|^\s|\s$/.test(it)))
      throw refused(
        parameter,
        "a header's list holds nothing empty, no commas, no = and no spaces at the ends",
      );
    return parameter.explode && member !== undefined ? [`${member}=${text}`] : both;
  });
  return written.join(",");
}

/** `name=value` for the cookie header. Exploded lists and objects are several cookies. */
export function inCookie(parameter: ApiParameter, value: Json): string[] {
  const { name, explode } = parameter;
  if (parameter.isJson) return [`${name}=${percent(JSON.stringify(value))}`];
  const parts = partsOf(parameter, value);
  if (parts.some(({ isOnly }) => isOnly)) return [`${name}=${percent(parts[0]!.text)}`];
  if (!explode) return [`${name}=${listed(parts, ",")}`];
  return parts.map(
    ({ member, text }) => `${member === undefined ? name : percent(member)}=${percent(text)}`,
  );
}

/** Everything but the characters that mean nothing anywhere in an address. */
function percent(text: string): string {
  if (!text.isWellFormed())
    throw new OperationError(
      "invalid_input",
      "A parameter holds half of a character (a lone surrogate), which cannot be sent.",
    );
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.codePointAt(0)!.toString(16).toUpperCase()}`,
  );
}

export function refused({ input }: Pick<ApiParameter, "input">, why: string): OperationError {
  return new OperationError("invalid_input", `"${input}" cannot be sent as it is: ${why}.`);
}

interface Part {
  /** Of an object. */
  readonly member?: string;
  readonly text: string;
  /** The whole value: no list and no object. */
  readonly isOnly?: true;
}

function partsOf(parameter: ApiParameter, value: Json): Part[] {
  if (isList(value)) return value.map((item) => ({ text: plain(parameter, item) }));
  if (isObject(value))
    return Object.entries(value).map(([member, item]) => ({
      member,
      text: plain(parameter, item),
    }));
  return [{ text: plain(parameter, value), isOnly: true }];
}

function plain(parameter: ApiParameter, value: Json): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw refused(
    parameter,
    value === null
      ? "null has no way to be written there"
      : "lists and objects hold no others there",
  );
}

function pair({ member = "", text }: Part): string {
  return `${percent(member)}=${percent(text)}`;
}

/** Members and values in turn, as the styles without `explode` want them. */
function listed(parts: readonly Part[], separator: string): string {
  return parts
    .flatMap(({ member, text }) => (member === undefined ? [text] : [member, text]))
    .map((text) => undotted(percent(text), separator))
    .join(separator);
}

/** Where dots tell the parts apart, a dot of a part is written encoded. */
function undotted(written: string, separator: string): string {
  return separator === "." ? written.replaceAll(".", "%2E") : written;
}

/** A delimiter that is itself written encoded cannot be told from one in a value. */
function apart(
  parameter: ApiParameter,
  parts: readonly Part[],
  sign: string,
  written: string,
): string {
  const all = parts.flatMap(({ member, text }) => (member === undefined ? [text] : [member, text]));
  if (all.some((text) => text.includes(sign)))
    throw refused(
      parameter,
      `its items are told apart by ${sign === " " ? "spaces" : sign}, so none may hold one`,
    );
  return all.map(percent).join(written);
}

function deep(
  parameter: ApiParameter,
  key: string,
  value: Json,
  depth: number,
): [string, string][] {
  if (depth > 8) throw refused(parameter, "it is nested too deeply");
  if (isList(value)) return value.map((item): [string, string] => [key, plain(parameter, item)]);
  if (!isObject(value)) return [[key, plain(parameter, value)]];
  return Object.entries(value).flatMap(([member, item]) => {
    if (/[[\]]/.test(member) || member === "")
      throw refused(parameter, "the names in it cannot be empty or hold [ or ]");
    return deep(parameter, `${key}%5B${percent(member)}%5D`, item, depth + 1);
  });
}

/** Reserved characters stay, but for those that would end the value or be read as another one. */
function reserved(text: string): string {
  return percent(text).replaceAll(
    /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B|3D)/g,
    decodeURIComponent,
  );
}
