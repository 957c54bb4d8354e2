import { type CallContext, type JsonObject, OperationError } from "@lichen/capability";
import { createUiConnector } from "@lichen/capability/connectors";
import { expect, test } from "vitest";

function rig(ask?: CallContext["ask"]) {
  const shown: JsonObject[] = [];
  const connector = createUiConnector({ id: "ui", namespace: "ui" });
  const call = (name: string, input: JsonObject) =>
    connector.call(name, input, {
      signal: new AbortController().signal,
      resolve: async () => ({ ok: true, auth: { kind: "none" } }),
      image: () => {
        throw new OperationError("too_large", "No image is wanted here.");
      },
      progress: () => {},
      display: (data) => void shown.push(data),
      ...(ask && { ask }),
    });
  return { call, shown, connector };
}

test("[M66] a text, a list, a table and a chart are shown to the person; another shape is refused and named", async () => {
  const { call, shown } = rig();
  const displays = [
    { type: "markdown", text: "**Water**" },
    { type: "list", title: "Plants", items: ["fern", "moss"] },
    {
      type: "table",
      columns: ["plant", "days"],
      rows: [
        ["fern", 2],
        ["moss", null],
      ],
    },
    { type: "chart", points: [{ label: "fern", value: 2 }] },
  ];
  for (const display of displays) expect(await call("show", { display })).toEqual({});
  expect(shown).toEqual(displays);
  for (const display of [
    { type: "html", text: "<b>" },
    { type: "list", items: [1] },
    { type: "chart", points: [{ label: "x", value: "2" }] },
    { type: "markdown", text: "x", onclick: "y" },
  ])
    await expect(call("show", { display })).rejects.toMatchObject({ code: "invalid_input" });
  await expect(
    call("show", { display: { type: "table", columns: ["a", "b"], rows: [["1"]] } }),
  ).rejects.toMatchObject({ code: "invalid_input", message: expect.stringContaining("Row 1") });
  expect(shown).toHaveLength(displays.length);
});

test("[M67] a question reaches the person of the call and gives back the answers; where nobody can be asked it is refused", async () => {
  const asked: unknown[] = [];
  const { call } = rig(async (questions, description) => {
    asked.push(questions, description);
    return { "Which one?": "fern" };
  });
  const questions = [{ question: "Which one?", options: [{ label: "fern" }, { label: "moss" }] }];
  expect(await call("ask", { questions, description: "About water" })).toEqual({
    "Which one?": "fern",
  });
  expect(asked).toEqual([questions, "About water"]);
  await expect(call("ask", { questions: [] })).rejects.toMatchObject({ code: "invalid_input" });
  await expect(rig().call("ask", { questions })).rejects.toMatchObject({ code: "unavailable" });
});
