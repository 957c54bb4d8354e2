// Finds operations by words: those of its names weigh most, then how its description begins; rare words more than common
// ones. Case, accents, plural and the way words are joined in a name do not matter.

import type { Surface, SurfaceNamespace, SurfaceOperation } from "../surface/surface.ts";

export interface Found {
  readonly namespace: SurfaceNamespace;
  readonly operation: SurfaceOperation;
}

const weights = { property: 6, title: 4.5, namespace: 4, description: 2 };
const mostWords = 24;

/** All operations of one surface, by the words that they are described with. */
export class OperationIndex {
  readonly #all: Found[] = [];
  /** Word → the places in `#all` that have it, with the weight of it there. */
  readonly #places = new Map<string, Map<number, number>>();
  /** The words of each one's title: how its description begins, or its name where it has none. */
  readonly #titles: ReadonlySet<string>[] = [];

  constructor(surface: Surface) {
    for (const namespace of surface.namespaces) {
      const shared = wordsOf(namespace.name);
      for (const operation of namespace.operations) {
        const place = this.#all.push({ namespace, operation }) - 1;
        const named = [...wordsOf(operation.property), ...wordsOf(operation.name)];
        const { description } = operation;
        this.#note(place, wordsOf(description.slice(0, 2_000)), weights.description);
        const [title = ""] = description.slice(0, 120).split(/[\n.]/, 1);
        const titled = wordsOf(title);
        this.#titles.push(new Set(titled.length === 0 ? named : titled));
        this.#note(place, titled, weights.title);
        this.#note(place, shared, weights.namespace);
        this.#note(place, named, weights.property);
      }
    }
  }

  /** The best first; only those that have at least one of the words. */
  search(query: string, isWanted: (found: Found) => boolean): Found[] {
    const asked = [...new Set(wordsOf(query.slice(0, 1_000)))].slice(0, mostWords);
    const scores = new Map<number, number>();
    for (const word of asked) {
      const best = new Map<number, number>();
      for (const [other, places] of this.#places) {
        const likeness = likenessOf(word, other);
        if (likeness === 0) continue;
        const rarity = Math.log(1 + this.#all.length / places.size);
        for (const [place, weight] of places)
          best.set(place, Math.max(best.get(place) ?? 0, weight * likeness * rarity));
      }
      for (const [place, score] of best) scores.set(place, (scores.get(place) ?? 0) + score);
    }
    return [...scores]
      .filter(([place]) => isWanted(this.#all[place]!))
      .map(([place, score]) => [place, score * (0.5 + this.#share(place, asked))] as const)
      .sort(([a, one], [b, other]) => other - one || a - b)
      .map(([place]) => this.#all[place]!);
  }

  /** How much of a title was asked for: from 0 to 1. */
  #share(place: number, asked: readonly string[]): number {
    const title = this.#titles[place]!;
    let share = 0;
    for (const word of title) share += Math.max(...asked.map((one) => likenessOf(one, word)));
    return title.size === 0 ? 0 : share / title.size;
  }

  #note(place: number, words: readonly string[], weight: number): void {
    for (const word of words) {
      let places = this.#places.get(word);
      if (!places) this.#places.set(word, (places = new Map()));
      places.set(place, Math.max(places.get(place) ?? 0, weight));
    }
  }
}

/** The words of a name or a text: `listForUser`, `list-for-user` and `List for users` have the same. */
function wordsOf(text: string): string[] {
  return text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "" && !common.has(word))
    .map(singular);
}

const common: ReadonlySet<string> = new Set(
  "a an and are as at be by for from has if in into is it its of on or that the this to with you your".split(
    " ",
  ),
);

function singular(word: string): string {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}

/** 1 for the same word, less for one that begins like it. */
function likenessOf(word: string, other: string): number {
  if (word === other) return 1;
  if (word.length >= 3 && other.startsWith(word)) return 0.6;
  return other.length >= 4 && word.startsWith(other) ? 0.4 : 0;
}
