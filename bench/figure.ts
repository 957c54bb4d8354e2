// What a figure is: a measurement that compares two things within one run and says which ratio was promised.

export interface Reading {
  readonly what: string;
  readonly measured: number;
  readonly bound: "at least" | "at most";
  readonly target: number;
  /** Shown after the number: `x` for a ratio, else a unit. */
  readonly unit: "" | "x" | "ms" | "s" | "KB" | "MB";
  /** What the number was made from, for whoever asks why. */
  readonly detail: Readonly<Record<string, number>>;
}

export interface BenchContext {
  /** Smaller amounts: shows that everything works, not how fast it is. */
  readonly isQuick: boolean;
  /** An empty folder of this figure's own. */
  readonly folder: string;
  /** Where child processes leave CPU profiles; absent where none are asked for. */
  readonly profileFolder?: string;
  /** What must be ended when the figure is over, however it ended. */
  readonly ends: (() => Promise<void>)[];
  /** Progress for a person, on stderr. */
  note(text: string): void;
}

export interface Figure {
  readonly number: number;
  readonly title: string;
  readonly measure: (context: BenchContext) => Promise<readonly Reading[]>;
}

export function isMet({ measured, bound, target }: Reading): boolean {
  return bound === "at least" ? measured >= target : measured <= target;
}
