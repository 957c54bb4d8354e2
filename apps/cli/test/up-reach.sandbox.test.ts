// These tests need a working bubblewrap and fail without one: the machine listens on every address of a network of its own.

import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { bin, Home } from "./process.ts";

const script = `
ip addr add 10.99.0.1/32 dev lo
mkfifo told offer
"$NODE" "$LICHEN" up --port 0 --bind 0.0.0.0 --json > told 2> up.log &
head -n 1 < told > first
"$NODE" "$LICHEN" pair --json > offer 2> pair.log &
head -n 1 < offer > offered
"$NODE" -e '
const { url } = JSON.parse(fs.readFileSync("offered", "utf8"));
fetch(url).then(async (answer) => console.log(JSON.stringify({ url, status: answer.status, page: (await answer.text()).slice(0, 15) })));
'
`;

test("[UP27] bound to every address up says so and who reaches them, and pair shows one at which others reach it", async () => {
  await using home = await Home.make();
  await writeFile(home.path("own-network.sh"), script);
  const own = ["--dev-bind", "/", "/", "--unshare-user", "--unshare-net", "--unshare-pid"];
  const { stdout, stderr } = await home.run(
    [
      ...own,
      ...["--proc", "/proc", "--die-with-parent", "--cap-add", "CAP_NET_ADMIN"],
      ...["sh", home.path("own-network.sh")],
    ],
    { program: ["bwrap"], env: { NODE: process.execPath, LICHEN: bin } },
  );
  expect(stderr).toBe("");
  const told = JSON.parse(stdout) as { url: string };
  expect(told).toMatchObject({ status: 200, page: "<!doctype html>" });
  expect(told.url).toMatch(/^http:\/\/10\.99\.0\.1:\d+\/pair#/);
  const { stdout: up } = await home.run([home.path("up.log")], { program: ["cat"] });
  expect(up).toMatch(
    /listens on port (\d+) of every address of this computer: http:\/\/127\.0\.0\.1:\1, http:\/\/10\.99\.0\.1:\1\n/,
  );
  expect(up).toMatch(
    /whoever is in a network with this computer reaches it there\. .*read on the way/,
  );
});
