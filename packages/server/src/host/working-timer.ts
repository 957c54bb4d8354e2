// Timers of work that is under way (a retry's delay, the demo's pace). Unlike the platform's they keep the process
// alive, so that a program which waits for its agent does not end in the middle of the answer.

import type { After } from "@lichen/engine";

/** The longest delay that Node's timers take. */
const longestMs = 2_147_483_647;

export const whileWorking: After = (ms, wake) => {
  const timer = setTimeout(wake, Math.min(ms, longestMs));
  return () => clearTimeout(timer);
};
