// Whether a run that failed for this reason may well succeed when it is tried again. A settlement carries one line of
// text and no code, so the words of networks and providers are all there is to go by.

const passing = [
  /\b(408|425|429|500|502|503|504|529)\b/,
  /rate.?limit|overloaded|too many requests|at capacity|unavailable|try again|timed? ?out/i,
  /\b(ECONNRESET|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|ENETDOWN|EAI_AGAIN|EPIPE|UND_ERR\w*)\b/,
  /socket hang up|fetch failed|network error|connection (error|reset|closed)|terminated/i,
];

export function isPassing(diagnostic: string): boolean {
  return passing.some((words) => words.test(diagnostic));
}
