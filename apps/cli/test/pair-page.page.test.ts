import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type Chromium, openChromium, type Page } from "../../../packages/client/test/chromium.ts";
import { Provider, writeAgent } from "./agent.ts";
import { StartedMachine } from "./machine.ts";
import { Home } from "./process.ts";

// A browser and many processes, on a computer that may be busy.
const slow = { timeout: 240_000 };

/** Settles once an expression holds in the page, which is asked after every change of it. */
function until(page: Page, expression: string): Promise<true> {
  return page.evaluate(`new Promise((resolve) => {
    const look = () => { if (${expression}) { observer.disconnect(); resolve(true); } };
    const observer = new MutationObserver(look);
    observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
    look();
  })`);
}

function press(page: Page, label: string): Promise<void> {
  return page.evaluate(
    `[...document.querySelectorAll("button")].find((it) => it.textContent === ${JSON.stringify(label)}).click()`,
  );
}

/** The address that a person scans, and the command that waits for its use. */
async function offered(home: Home, args: readonly string[] = []) {
  const pairing = home.start(["pair", ...args]);
  const url = await pairing.until(({ stdout }) => /^(http:\S+\/pair#\S+)$/m.exec(stdout)?.[1]);
  return { pairing, url, code: new URL(url).hash.slice(1) };
}

async function paired(chromium: Chromium, home: Home, args: readonly string[]): Promise<Page> {
  const { pairing, url } = await offered(home, args);
  const page = await chromium.open(url);
  await until(page, "!document.forms[0].hidden");
  await press(page, "Pair this device");
  expect((await pairing.ended).code).toBe(0);
  return page;
}

test(
  "[DV41] a browser that opens the address of `lichen pair` is a device, sees what waits and answers it under its name, until it is revoked",
  slow,
  async () => {
    await using home = await Home.make();
    const machine = await StartedMachine.start(home);
    await machine.make("demo", home.path("demo"));
    await home.run(["send", "demo", "note buy milk"]);
    await using chromium = await openChromium(home.path("profile"));

    const { pairing, url, code } = await offered(home);
    const page = await chromium.open(url);
    await until(page, "!document.forms[0].hidden");
    expect(await page.evaluate("location.href")).toBe(url.split("#")[0]);
    await page.evaluate(`document.forms[0].elements.name.value = "my phone"`);
    await press(page, "Pair this device");
    await until(page, `document.body.textContent.includes("waits for you")`);
    expect((await pairing.ended).code).toBe(0);
    expect(pairing.stderr).toContain("my phone is paired");
    // What scripts can read is no credential, and neither is what the browser sends to every server of that computer.
    expect(await page.evaluate("document.cookie")).toBe("");
    const { "lichen-page": word = "", ...more } =
      await page.evaluate<Record<string, string>>("({ ...localStorage })");
    expect(more).toEqual({});
    const withWord = { headers: { "lichen-page": word } };
    expect((await fetch(new URL("/agents", machine.url), withWord)).status).toBe(401);
    const status = (init: string) =>
      page.evaluate(`fetch("/agents", ${init}).then(({ status }) => status)`);
    expect(await status(`{}`)).toBe(401);
    expect(await status(JSON.stringify(withWord))).toBe(200);

    await until(page, `document.querySelector("pre")?.textContent.includes("buy milk")`);
    await press(page, "Allow");
    await until(page, `document.querySelector("section").dataset.waits === "0"`);
    await until(page, `document.querySelector("pre") === null`);
    const { stdout } = await home.run(["log", "demo", "--json"]);
    const decided = stdout.split("\n").find((line) => line.includes("approval.answered"));
    expect(decided).toContain('"by":"my phone"');
    const following = home.start(["log", "demo", "--follow"]);
    await following.until(({ stdout: said }) => /= the run is done/.exec(said) ?? undefined);
    expect(await readFile(home.path("demo/notes.txt"), "utf8")).toBe("buy milk\n");

    const again = await chromium.open(`${machine.url}/pair`);
    await until(again, `document.querySelector("h2")?.textContent === "demo"`);
    const [id = ""] = (await home.run(["devices"])).stdout.split(" ");
    expect((await home.run(["devices", "revoke", id])).code).toBe(0);
    await until(again, `document.getElementById("told").textContent.includes("not paired")`);
    expect(machine.running.stderr).not.toContain(code);
  },
);

const pickTool = `
import { defineTool, z } from "lichen";
export default defineTool({
  description: "Asks which color.",
  label: "read",
  input: z.object({}),
  execute: async (_input, { ask }) => JSON.stringify(await ask([
    { question: "Which color?", options: [{ label: "Red" }, { label: "Blue", description: "like the sky" }] },
  ])),
});
`;

test(
  "[DV41] the page shows the conversations of folders' agents too, and answers a question with its options, and not with nothing",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home, { "tools/pick.ts": pickTool });
    const picks = { parts: [{ call: { name: "pick", input: {} } }] };
    await Provider.start(home, dir, { steps: [picks, "Picked."] });
    await StartedMachine.start(home, [dir]);
    const sending = home.start(["send", "agent", "pick", "--wait"]);
    await using chromium = await openChromium(home.path("profile"));
    const page = await paired(chromium, home, ["--name", "phone"]);
    await until(page, `document.querySelector("label input:not([name])") !== null`);
    expect(await page.evaluate(`document.querySelector("h2").textContent`)).toBe("agent");
    await press(page, "Answer");
    await until(page, `document.getElementById("told").textContent.includes("Write an answer")`);
    await press(page, "Blue: like the sky");
    await press(page, "Answer");
    expect((await sending.ended).code).toBe(0);
    expect(sending.stdout).toBe("Picked.\n");
    const { stdout } = await home.run(["log", "agent", "--json"]);
    expect(stdout).toContain('"Which color?":"Blue"');
  },
);

test(
  "[DV41] the page shows what hides, and tells a viewer that it may only read",
  slow,
  async () => {
    await using home = await Home.make();
    const machine = await StartedMachine.start(home);
    await machine.make("demo", home.path("demo"));
    await home.run(["send", "demo", "note seen\u202enees"]);
    await using chromium = await openChromium(home.path("profile"));
    const page = await paired(chromium, home, ["--name", "tv", "--viewer"]);
    await until(page, `document.querySelector("pre")?.textContent.includes("\\\\u{202e}nees")`);
    await press(page, "Deny");
    await until(page, `document.getElementById("told").textContent.includes("viewer may not")`);
    await until(page, `document.querySelector("section").dataset.waits === "1"`);
    // What comes to wait later puts itself in front of nothing.
    await machine.make("later", home.path("later"));
    await home.run(["send", "later", "note more"]);
    await until(page, `document.querySelectorAll("pre").length === 2`);
    const names = `[...document.querySelectorAll("h2")].map((it) => it.textContent)`;
    expect(await page.evaluate(names)).toEqual(["demo", "later"]);
    // It goes on by itself once the machine is back.
    expect(await machine.running.stop("SIGTERM")).toBe(0);
    await until(page, `document.getElementById("told").textContent.includes("trying again")`);
    await home.start(["up", "--port", new URL(machine.url).port, "--json"]).firstLine();
    await until(page, `document.getElementById("told").textContent === ""`);
    expect(await page.evaluate(`document.querySelectorAll("section").length`)).toBe(2);
  },
);

test(
  "[DV40] the page runs its own script alone and is open to whoever reaches the machine",
  slow,
  async () => {
    await using home = await Home.make();
    const machine = await StartedMachine.start(home);
    for (const path of ["/pair", "/pair/page.js", "/pair/page.css"]) {
      const { status, headers } = await fetch(new URL(path, machine.url));
      expect(status).toBe(200);
      expect(headers.get("content-security-policy")).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
      );
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
    const html = await (await fetch(new URL("/pair", machine.url))).text();
    expect(html.match(/(?:src|href)="[^"]*"/g)).toEqual([
      'href="/pair/page.css"',
      'src="/pair/page.js"',
    ]);
    expect((await fetch(new URL("/pair/page.js.map", machine.url))).status).toBe(404);
    expect((await fetch(new URL("/pair", machine.url), { method: "POST" })).status).toBe(405);
    const other = { headers: { origin: "http://elsewhere.example" } };
    expect((await fetch(new URL("/pair", machine.url), other)).status).toBe(403);
  },
);
