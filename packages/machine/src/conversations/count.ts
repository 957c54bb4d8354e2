// How many of something a query asks for.

import * as z from "zod";

/** A whole number from 1 on; `usual` where it is left out, and never more than `most`. */
export function countIn(
  name: string,
  { usual, most }: { readonly usual: number; readonly most: number },
): z.ZodType<number> {
  return z
    .string()
    .regex(/^[1-9]\d{0,15}$/, `${name}: a whole number from 1 to ${most}`)
    .transform((text) => Math.min(Number(text), most))
    .default(usual);
}
