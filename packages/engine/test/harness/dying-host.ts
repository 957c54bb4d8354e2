// A host that dies before its harness's process group is recorded, for tests: `node dying-host.ts FOLDER`. It says the
// launcher's number on stdout and waits to be killed.

import { processHost } from "../../src/harness/host/launch.ts";

const [folder = ""] = process.argv.slice(2);
await processHost.launch({
  argv: ["touch", "began"],
  dir: folder,
  env: { PATH: process.env["PATH"] ?? "" },
  mark: "dying",
  recorded: ({ group }) => {
    console.log(group);
    return new Promise(() => {
      setInterval(() => {}, 60_000);
    });
  },
  line: () => {},
  report: console.error,
});
