// What stands around the conversation: notices, the connection, what waits, what is attached, how things stand.

import { noUsage, type SessionInfo } from "@lichen/wire";
import { oneLine } from "../printable.ts";
import type { Chat } from "./chat.ts";
import type { ModelInUse } from "./model-in-use.ts";
import { nameOf } from "./pickers.ts";
import type { Surroundings } from "./screen.ts";
import { bytesInWords } from "./show/amounts.ts";
import { bannerLine } from "./show/banner.ts";
import { footerLines } from "./show/footer.ts";
import { queueLines } from "./show/queue.ts";

export function surroundings(chat: Chat, model: ModelInUse): Surroundings {
  const theme = () => chat.screen.theme;
  return {
    welcome: (width) => {
      const { following, view } = chat;
      if (chat.shown !== undefined && chat.shown.items.length > 0) return [];
      if (chat.reach === undefined) return [theme().dim("  …")];
      if (following?.standing === "absent" || following?.outage || view !== undefined)
        return welcome(chat, width).map((line) => theme().dim(line));
      return [
        theme().dim(following?.standing === "deleted" ? "  This session was deleted." : "  …"),
      ];
    },
    notices: (width) => chat.notices.lines(theme(), width),
    banner: (width) => bannerLine(chat.following?.outage, Date.now(), theme(), width),
    queue: (width) => {
      const { following, reach } = chat;
      const sent = following && reach ? reach.outgoing.lines(following) : [];
      return queueLines([...sent, ...chat.early.lines()], theme(), width);
    },
    attached: () =>
      chat.attachments.all.map(({ name, data }) =>
        theme().accent(
          `  + ${oneLine(name, 60)} (${bytesInWords(data.length)}) · /detach leaves it out`,
        ),
      ),
    footer: (width) => {
      const info = chat.view?.session;
      return footerLines(
        {
          agent: chat.reach?.name ?? "…",
          session: info === undefined ? "new session" : titleOf(info),
          model: model.of(info),
          reasoning: model.reasoningOf(info),
          state: info?.state ?? "idle",
          capabilities: info?.capabilities,
          usage: info?.usage ?? noUsage,
          contextUsed: model.contextOf(chat.view),
          hints: hintsOf(chat),
        },
        theme(),
        width,
      );
    },
  };
}

function welcome(chat: Chat, width: number): string[] {
  const narrow = width < 60;
  return [
    "",
    `  ${chat.reach?.name ?? ""}`,
    "",
    "  Type a message and press enter.",
    chat.only
      ? "  / lists the commands · /help explains the keys"
      : narrow
        ? "  / commands · ctrl+r sessions"
        : "  / lists the commands · ctrl+r goes on with another session · /help explains the keys",
  ];
}

function titleOf(info: SessionInfo): string {
  return info.title !== undefined && info.title !== "" ? info.title : nameOf(info);
}

function hintsOf(chat: Chat): string[] {
  const { view, reach, following } = chat;
  if (reach === undefined || following === undefined) return [];
  const { unread, asking } = reach.directory.elsewhere(following.session.id);
  return [
    ...(asking > 0
      ? [`${asking} elsewhere ${asking === 1 ? "waits" : "wait"} for you: ctrl+r`]
      : []),
    ...(unread > 0 ? [`${unread} unread: ctrl+r`] : []),
    ...(view?.running === undefined
      ? ["/ commands"]
      : ["esc stops", "enter steers", "alt+enter queues"]),
    "ctrl+o details",
  ];
}
