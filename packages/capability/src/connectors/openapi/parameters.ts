// The parameters of one operation: where each goes, how it is written there, and what it is called in the input.

import type { Json, JsonObject } from "../../json.ts";
import { isObject, memberOf, objectAt, oneLine, textAt } from "../read-json.ts";
import { follow } from "./pointer.ts";
import type { Schemas } from "./schemas.ts";

type Place = "path" | "query" | "header" | "cookie";
type Style =
  | "simple"
  | "label"
  | "matrix"
  | "form"
  | "spaceDelimited"
  | "pipeDelimited"
  | "deepObject";

export interface ApiParameter {
  /** As the server calls it. */
  readonly name: string;
  /** As the input calls it. */
  readonly input: string;
  readonly place: Place;
  readonly style: Style;
  readonly explode: boolean;
  readonly allowReserved: boolean;
  /** Written as JSON, whatever the style. */
  readonly isJson: boolean;
  readonly isRequired: boolean;
  readonly schema: Json;
}

const places: readonly string[] = ["path", "query", "header", "cookie"] satisfies Place[];
const styles: Record<Place, readonly Style[]> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  cookie: ["form"],
};
/** Not a parameter's to set: the body's, the answer's, the auth's and the connection's own. */
const ownHeaders =
  /^(?:accept|authorization|content-.*|cookie|host|connection|expect|keep-alive|origin|te|trailer|transfer-encoding|upgrade|proxy-.*|sec-.*)$/i;

/** A sentence where the operation cannot be called with what is described. */
export function readParameters(
  document: JsonObject,
  schemas: Schemas,
  mentions: Set<string>,
  { path, listed }: { readonly path: string; readonly listed: readonly Json[] },
): ApiParameter[] | string {
  const inPath = [...path.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1]!);
  /** A later one of a name and place replaces an earlier one. */
  const found = new Map<string, Omit<ApiParameter, "input">>();
  for (const each of listed) {
    const described = follow(document, each);
    if (typeof described === "string") return `of one of its parameters, ${described}`;
    const parameter = readParameter(schemas, mentions, described);
    if (typeof parameter === "string") return parameter;
    const { place, name } = parameter;
    if (place === "header" && ownHeaders.test(name)) continue;
    if (place === "path" && !inPath.includes(name)) continue;
    // The case of a header's name says nothing.
    found.set(`${place} ${place === "header" ? name.toLowerCase() : name}`, parameter);
  }
  const missing = inPath.find((name) => !found.has(`path ${name}`));
  if (missing !== undefined) return `its path has {${missing}}, which no parameter describes`;
  return named([...found.values()]);
}

function readParameter(
  schemas: Schemas,
  mentions: Set<string>,
  described: JsonObject,
): Omit<ApiParameter, "input"> | string {
  const name = textAt(described, "name") ?? "";
  const place = textAt(described, "in");
  if (name === "" || name.length > 200 || !isPlace(place))
    return `one of its parameters says no name, or no place that is known`;
  if ((place === "header" || place === "cookie") && !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
    return `its parameter ${JSON.stringify(name)} cannot be the name of a ${place}`;
  const said = textAt(described, "style");
  const style = styles[place].find((it) => it === said) ?? styles[place][0]!;
  if (said !== undefined && style !== said)
    return `its parameter ${JSON.stringify(name)} has the style ${said.slice(0, 40)}, which is none of a ${place}`;
  const content = objectAt(described, "content");
  const media = content && Object.entries(content)[0];
  const schema = media
    ? isObject(media[1])
      ? media[1]["schema"]
      : undefined
    : described["schema"];
  return {
    name,
    place,
    style,
    explode:
      memberOf(described, "explode") === true ||
      (style === "form" && memberOf(described, "explode") !== false),
    allowReserved: place === "query" && memberOf(described, "allowReserved") === true,
    isJson: media !== undefined && /\bjson\b/i.test(media[0]),
    isRequired: place === "path" || memberOf(described, "required") === true,
    schema: withWords(schemas.read(schema, "input", mentions), described),
  };
}

/** The schema with the parameter's own words, which say more than the schema's. */
function withWords(schema: Json, parameter: JsonObject): Json {
  const words = oneLine(textAt(parameter, "description") ?? "", 300);
  const isOld = memberOf(parameter, "deprecated") === true;
  if (!isObject(schema) || (words === "" && !isOld)) return schema;
  return {
    ...schema,
    ...(words !== "" && { description: words }),
    ...(isOld && { deprecated: true }),
  };
}

function isPlace(text: string | undefined): text is Place {
  return text !== undefined && places.includes(text);
}

function named(parameters: readonly Omit<ApiParameter, "input">[]): ApiParameter[] {
  // No JSON can be given under `__proto__` that is not in danger of being lost on its way.
  const taken = new Set<string>(["body", "__proto__"]);
  const sorted = parameters.toSorted((a, b) => places.indexOf(a.place) - places.indexOf(b.place));
  return sorted.map((parameter) => {
    const { name, place } = parameter;
    let input = taken.has(name) ? `${place}_${name}` : name;
    while (taken.has(input)) input = `${input}_`;
    taken.add(input);
    return { ...parameter, input };
  });
}
