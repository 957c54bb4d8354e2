// Amounts in words: bytes, tokens, durations, money.

const sizes = ["bytes", "kB", "MB", "GB", "TB"];

/** `34 kB`. */
export function bytesInWords(bytes: number): string {
  return scaled(bytes, sizes);
}

/** `12 k`. */
export function tokensInWords(tokens: number): string {
  return scaled(tokens, ["", "k", "M", "G"]).trim();
}

/** `0.2 s`, `3 min 5 s`, `2 h 4 min`. */
export function durationInWords(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000;
  if (seconds < 9.95) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min${whole % 60 === 0 ? "" : ` ${whole % 60} s`}`;
  const hours = Math.floor(minutes / 60);
  return `${hours} h${minutes % 60 === 0 ? "" : ` ${minutes % 60} min`}`;
}

/** US dollars; what is less than a cent with two digits of it. */
export function moneyInWords(dollars: number): string {
  return dollars === 0 || dollars >= 0.01
    ? `$${dollars.toFixed(2)}`
    : `$${Number(dollars.toPrecision(2)).toFixed(4)}`;
}

function scaled(amount: number, units: readonly string[]): string {
  let value = amount;
  let at = 0;
  while (value >= 999.5 && at < units.length - 1) {
    value /= 1_000;
    at++;
  }
  const digits = at > 0 && value < 9.95 ? value.toFixed(1) : String(Math.round(value));
  return `${digits} ${units[at]}`;
}
