// Gives the terminal back to the shell until that says to go on; where no shell can, the screen is there again at once.

import type { Chat } from "./chat.ts";

/** A process that still runs after this was not stopped: nobody could bring it back. */
const stoppedWithinMs = 300;

export function suspend(chat: Chat): void {
  const { tui } = chat.screen;
  let isOver = false;
  const end = (): boolean => {
    if (isOver) return false;
    isOver = true;
    clearTimeout(late);
    process.off("SIGCONT", back);
    return true;
  };
  const back = (): void => {
    if (!end()) return;
    tui.start();
    tui.requestRender(true);
  };
  const late = setTimeout(() => {
    // Time also passes while the process is stopped: then the signal to go on is read before this.
    setImmediate(() => {
      if (isOver) return;
      back();
      chat.notices.say("This terminal has no shell that could bring the chat back: ctrl+d leaves.");
    });
  }, stoppedWithinMs);
  tui.stop({ preserveScreen: true });
  process.on("SIGCONT", back);
  // Who leaves meanwhile gets no screen again.
  void chat.leaving.promise.then(end);
  // The launcher, where there is one, stops too: else the shell would wait for it.
  process.kill(0, "SIGTSTP");
}
