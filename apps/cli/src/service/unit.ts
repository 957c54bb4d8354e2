// The text of the service that starts a machine with its user: a unit of systemd, or a property list of launchd.
//
//   UP13  It starts through a login shell, so that what a person's profile puts on the PATH is found, and every word
//         stands there as it was, whatever characters it has.

/** The words of the command that the service runs. */
export type Line = readonly [program: string, ...args: string[]];

export function unitText(line: Line): string {
  return `# Written by \`lichen service install\`: what is changed here is overwritten by the next one.
[Unit]
Description=Lichen: this computer's coding agents
After=network.target

[Service]
ExecStart=/bin/sh -lc ${systemdQuoted(`exec ${line.map(shellQuoted).join(" ")}`)}
Restart=on-failure
RestartSec=10
TimeoutStopSec=30
KillMode=mixed

[Install]
WantedBy=default.target
`;
}

export function plistText(line: Line, log: string): string {
  const words = ["/bin/sh", "-lc", `exec ${line.map(shellQuoted).join(" ")}`];
  const array = words.map((word) => `    <string>${xml(word)}</string>`).join("\n");
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${serviceLabel}</string>
  <key>ProgramArguments</key>
  <array>
${array}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>StandardErrorPath</key>
  <string>${xml(log)}</string>
</dict>
</plist>
`;
}

export const unitName = "lichen.service";
export const serviceLabel = "lichen.machine";

/** A word as a POSIX shell reads it. */
function shellQuoted(word: string): string {
  return /^[\w@+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** One argument as systemd reads it: its own escapes, specifiers and variables mean nothing in it. */
function systemdQuoted(text: string): string {
  const plain = text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("%", "%%")
    .replaceAll("$", "$$$$")
    .replaceAll("\n", "\\n");
  return `"${plain}"`;
}

function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
