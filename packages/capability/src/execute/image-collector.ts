// The image collector: carries images out of a program past its code, which gets a note in the place of each.
//
//   An image is 4 MiB at most, one of four kinds, and a run keeps 16. Those of a call count once it has succeeded.
//   A number is given once, and stays an image's own over restarts.

import type { Image, ImageNote } from "../connector.ts";
import { OperationError } from "../failure.ts";

export const imageLimits = { count: 16, bytes: 4_194_304 } as const;

const mediaTypes: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** An image under the number that its note has. */
export interface CollectedImage extends Image {
  readonly number: number;
}

export class ImageCollector {
  readonly #kept = new Map<number, CollectedImage>();
  #open = 0;
  #last = 0;

  /** All that were kept, by number. */
  get images(): readonly CollectedImage[] {
    return [...this.#kept.values()].sort((a, b) => a.number - b.number);
  }

  /** Takes those of an earlier process. */
  restore(images: readonly CollectedImage[]): void {
    for (const image of images) {
      this.#kept.set(image.number, image);
      this.#last = Math.max(this.#last, image.number);
    }
  }

  /** For the images of one call. */
  open(): CallImages {
    const held: CollectedImage[] = [];
    return {
      take: (image) => {
        checkImage(image);
        if (this.#kept.size + this.#open >= imageLimits.count)
          throw new OperationError(
            "too_large",
            `A program hands out ${imageLimits.count} images at most: leave some out, or get the others with another program.`,
          );
        this.#open++;
        const taken = {
          number: ++this.#last,
          mediaType: image.mediaType,
          bytes: new Uint8Array(image.bytes),
        };
        held.push(taken);
        return { image: taken.number, mediaType: taken.mediaType, bytes: taken.bytes.length };
      },
      end: (succeeded) => {
        const taken = held.splice(0);
        this.#open -= taken.length;
        if (!succeeded) return [];
        for (const image of taken) this.#kept.set(image.number, image);
        return taken;
      },
    };
  }
}

export interface CallImages {
  /** Throws an `OperationError` past the bounds. */
  take(image: Image): ImageNote;
  /** The call is over: what it kept. */
  end(succeeded: boolean): readonly CollectedImage[];
}

function checkImage({ mediaType, bytes }: Image): void {
  if (!mediaTypes.includes(mediaType))
    throw new OperationError(
      "invalid_image",
      `${String(mediaType).slice(0, 100)} is no kind of image that a model sees: PNG, JPEG, GIF or WebP.`,
    );
  if (!(bytes instanceof Uint8Array) || bytes.length === 0)
    throw new OperationError("invalid_image", "The image has no bytes.");
  if (bytes.length > imageLimits.bytes)
    throw new OperationError(
      "too_large",
      `The image has ${bytes.length} bytes, and ${imageLimits.bytes} are the most: ask for a smaller one.`,
    );
}
