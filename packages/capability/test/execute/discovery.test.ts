// How code finds operations: lists, ranked search, types.

import { type Access, decide } from "@lichen/capability";
import { callOnce, createExecuteTool, namespacesText } from "@lichen/capability/execute";
import { expect, test } from "vitest";
import { githubOperations } from "./github.ts";
import { plainExecutor } from "./plain-executor.ts";
import { namespace, operation, schema, surface, TestSource } from "./surfaces.ts";

const signal = new AbortController().signal;

async function value(source: TestSource, code: string, access?: Access): Promise<unknown> {
  const door = createExecuteTool({ executor: plainExecutor, source });
  const { content, isError } = await door.execute(
    { code },
    { signal, ...(access ? { access: () => access } : {}) },
  );
  const text = content[0]?.type === "text" ? content[0].text : "";
  if (isError) throw new Error(text);
  return text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text;
}

const github = namespace("github", [
  operation("issuesCreate", {
    name: "issues/create",
    description: "Create an issue. Any user with pull access to a repository can create one.",
    input: schema(
      { owner: { type: "string" }, repo: { type: "string" }, title: { type: "string" } },
      ["owner", "repo", "title"],
    ),
  }),
  operation("issuesCreateComment", {
    name: "issues/create-comment",
    description: "Create an issue comment.",
  }),
  operation("issuesListForRepo", { description: "List repository issues.", label: "read" }),
  operation("reposGet", { name: "repos/get", description: "Get a repository.", label: "read" }),
  operation("activityMarkRead", { description: "Mark a thread as read, see issues." }),
]);
const notes = namespace("notes", [operation("addNote", { description: "Füge eine Notiz hinzu." })]);

const names = (found: unknown): string[] =>
  (found as { operations: { name: string }[] }).operations.map(({ name }) => name);

test("[D8] search ranks operations by their words, past case, accents, plural and how a name joins them", async () => {
  const source = new TestSource(surface([github, notes]));
  const search = async (query: string) =>
    names(await value(source, `return capabilities.search(${JSON.stringify(query)})`));
  expect((await search("create an issue"))[0]).toBe("github.issuesCreate");
  expect((await search("LIST REPOSITORY ISSUES"))[0]).toBe("github.issuesListForRepo");
  expect((await search("get repo"))[0]).toBe("github.reposGet");
  expect((await search("fuge notizen"))[0]).toBe("notes.addNote");
  expect(await search("zzz")).toEqual([]);
  const limited = await value(source, "return capabilities.search({query: 'issue', limit: 2})");
  expect(limited).toMatchObject({ more: 2 });
  expect(names(limited)).toHaveLength(2);
  const [first] = (
    (await value(source, "return capabilities.search('create issue')")) as {
      operations: { call: string }[];
    }
  ).operations;
  expect(first?.call).toBe("github.issuesCreate({ owner: string; repo: string; title: string; })");
});

test("[D8] in GitHub's whole document the operation that was meant comes first", async () => {
  const operations = await githubOperations();
  const listed = operations.map((it) => ({ ...it, property: it.name.replaceAll(/\W/g, "_") }));
  const source = new TestSource(surface([namespace("github", listed)]));
  const meant = {
    "list pull requests": "pulls_list",
    "create an issue": "issues_create",
    "get a repository": "repos_get",
    "merge pull request": "pulls_merge",
    "add labels to an issue": "issues_add_labels",
    "search code": "search_code",
  };
  const code = `return Promise.all(${JSON.stringify(Object.keys(meant))}.map(async (query) => (await capabilities.search(query)).operations[0].name))`;
  expect(await value(source, code)).toEqual(Object.values(meant).map((name) => `github.${name}`));
});

test("[D4] only what the session may call now is shown", async () => {
  const source = new TestSource(surface([github, notes]));
  const access: Access = { delivered: { github: "read", notes: "none" } };
  expect(await value(source, "return capabilities.list()", access)).toEqual({
    namespaces: [{ name: "github", operations: 2, description: "The github." }],
  });
  expect(
    names(await value(source, "return capabilities.search('issue create note')", access)),
  ).toEqual(["github.issuesListForRepo"]);
  expect(namespacesText(source.current, access)).toBe("- github (2 operations): The github.");
  expect(decide(access, "notes", "read").allowed).toBe(false);
});

test("[D4] types are told of what the session may call only, and no refusal names anything else", async () => {
  const source = new TestSource(surface([github, notes]));
  const access: Access = { delivered: { github: "read", notes: "none" } };
  const refused = (code: string) =>
    value(source, code, access).then(String, (error: Error) => error.message);
  expect(await refused("return capabilities.describe('github.reposGet')")).toContain("reposGet(");
  for (const name of ["github.issuesCreate", "github.issues/create", "notes.addNote"]) {
    const said = await refused(`return capabilities.describe(${JSON.stringify([name])})`);
    expect(said).toContain("[denied]");
    expect(said).not.toContain("title");
  }
  expect(await refused("return capabilities.describe('github.issueCreat')")).not.toContain(
    "issuesCreate",
  );
  expect(await refused("return capabilities.list({namespace: 'note'})")).not.toContain("notes");
  const call = { source, operation: "github.issueCreate", input: {} };
  const { content } = await callOnce({ ...call, context: { signal, access: () => access } });
  expect(JSON.stringify(content)).toContain("has no operation issueCreate");
  expect(JSON.stringify(content)).not.toContain("issuesCreate");
});

test("[D5] with 2,000 operations every answer stays bounded, and a search takes little time", async () => {
  const words = ["create", "list", "delete", "issue", "pull", "team", "hook", "secret", "run"];
  const many = Array.from({ length: 2_000 }, (_, at) =>
    operation(`${words[at % 9]}${words[(at * 7) % 8]}${at}`, {
      description: `Will ${words[at % 9]} the ${words[(at * 7) % 8]} number ${at}. `.repeat(20),
    }),
  );
  const source = new TestSource(surface([namespace("huge", many)]));
  const page = (await value(source, "return capabilities.list({namespace: 'huge'})")) as {
    operations: unknown[];
    next: { after: string };
  };
  expect(page.operations).toHaveLength(200);
  const all = await value(
    source,
    `let seen = 0; let after = "";
     for (;;) {
       const page = await capabilities.list({namespace: "huge", after});
       seen += page.operations.length;
       if (!page.next) return {seen};
       after = page.next.after;
     }`,
  );
  expect(all).toEqual({ seen: 2_000 });
  const found = await value(
    source,
    "return capabilities.search({query: 'create issue', limit: 9999})",
  );
  expect(names(found)).toHaveLength(50);
  expect(JSON.stringify(found).length).toBeLessThan(40_000);
  await expect(value(source, "return capabilities.describe('huge')")).rejects.toThrow(
    "20 are the most",
  );
  const namespaces = Array.from({ length: 90 }, (_, at) => namespace(`n${at}`, [operation("x")]));
  expect(namespacesText(surface(namespaces)).length).toBeLessThan(2_500);
});

test("[D5] no schema makes an answer long: not by its constants, its choices or the names in it", async () => {
  const long = "x".repeat(200_000);
  const given = {
    exact: { const: long },
    chosen: { enum: [long, 1] },
    deep: { const: { a: [long] } },
    [long]: { type: "string" },
  };
  const odd = operation("odd", { input: schema(given), output: { const: long } });
  const source = new TestSource(surface([namespace("odd", [odd])]));
  const described = await value(source, "return capabilities.describe('odd.odd')");
  expect(String(described).length).toBeLessThan(20_000);
  expect(described).toContain("exact?: string;");
  expect(described).toContain("chosen?: (string | number);");
  const found = await value(source, "return capabilities.search('odd')");
  expect(JSON.stringify(found).length).toBeLessThan(2_000);
});

test("[D5] what is asked for wrongly is refused with what there is", async () => {
  const source = new TestSource(surface([github], { hub: "github" }));
  const refused = async (code: string) =>
    value(source, code).catch((error: Error) => error.message);
  expect(await refused("return capabilities.describe('github.issueCreate')")).toContain(
    'Did you mean "issuesCreate"?',
  );
  expect(await refused("return capabilities.describe('git.x')")).toContain(
    "Nothing that is called git is attached",
  );
  expect(await refused("return capabilities.describe()")).toContain("name operations");
  expect(await refused("return capabilities.search({q: 'x'})")).toContain(
    "q is none of its fields",
  );
  expect(await refused("return capabilities.search('x', {})")).toEqual({ operations: [], more: 0 });
  expect(await refused("return capabilities.list({namespace: 'github', limit: 0})")).toContain(
    "whole number",
  );
  expect(await value(source, "return capabilities.describe('hub.reposGet')")).toContain(
    "declare const github",
  );
});
