import { describe, expect, it } from "vitest";
import { elicit } from "../../../src/connectors/mcp/elicit.ts";
import { type JsonObject, OperationError } from "../../../src/index.ts";

async function asked(properties: JsonObject, answers: JsonObject | ((question: string) => string)) {
  const questions: JsonObject[] = [];
  const rounds: number[] = [];
  const answer = await elicit(
    { message: "Tell me", requestedSchema: { type: "object", properties } },
    async (some, description) => {
      expect(description).toBe("calendar asks: Tell me");
      rounds.push(some.length);
      questions.push(...some);
      return typeof answers === "function"
        ? Object.fromEntries(
            some.map(({ question }) => [question, answers(JSON.stringify(question).slice(1, -1))]),
          )
        : answers;
    },
    "calendar",
  );
  return { answer, questions, rounds };
}

describe("a form of a server", () => {
  it("[M15] is asked field by field, and its answers have their types", async () => {
    const { answer, questions } = await asked(
      {
        name: { type: "string", title: "Name", description: "in full" },
        age: { type: "integer" },
        sure: { type: "boolean" },
        size: { type: "string", enum: ["s", "l"], enumNames: ["small", "large"] },
        color: {
          type: "string",
          oneOf: [
            { const: "r", title: "red" },
            { const: "b", title: "blue" },
          ],
        },
        days: {
          type: "array",
          items: {
            anyOf: [
              { const: "1", title: "Mon, early" },
              { const: "2", title: "Tue" },
            ],
          },
        },
      },
      {
        "Name: in full": "Ada",
        age: "36",
        sure: "Yes",
        size: "large",
        color: "red",
        days: "Mon / early, Tue",
      },
    );
    expect(answer).toEqual({
      action: "accept",
      content: { name: "Ada", age: 36, sure: true, size: "l", color: "r", days: ["1", "2"] },
    });
    expect(questions.at(-1)).toEqual({
      question: "days",
      options: [{ label: "Mon / early" }, { label: "Tue" }],
      multiSelect: true,
    });
  });

  it("[M15] leaves out what nobody answered and what is no number", async () => {
    const { answer } = await asked(
      { a: { type: "string" }, n: { type: "number" }, m: { type: "number" } },
      { n: "many", m: "2.5" },
    );
    expect(answer).toEqual({ action: "accept", content: { m: 2.5 } });
  });

  it("[M15] is asked in parts where it is long, with no question twice, and long lists as words", async () => {
    const fields = Array.from({ length: 19 }, (_, n) => [
      `f${n}`,
      { type: "string", title: "Same" },
    ]);
    const many = Array.from({ length: 40 }, (_, n) => `choice ${n}`);
    const { questions, rounds, answer } = await asked(
      Object.fromEntries([...fields, ["many", { type: "string", enum: many }]]),
      (question) => (question.startsWith("many") ? "choice 7" : question),
    );
    expect(rounds).toEqual([8, 8, 4]);
    expect(new Set(questions.map(({ question }) => question)).size).toBe(20);
    expect(questions.at(-1)).not.toHaveProperty("options");
    expect(answer).toMatchObject({ content: { many: "choice 7", f3: "Same (f3)" } });
  });

  it("[M15] without a field is a question of its own", async () => {
    expect((await asked({}, { "Tell me": "Yes" })).answer).toEqual({
      action: "accept",
      content: {},
    });
    expect((await asked({}, { "Tell me": "No" })).answer).toEqual({ action: "decline" });
  });

  it("[M15] is declined by who denies it, and cancelled where nobody answers or it is no form", async () => {
    const fails = (code: string) => () => Promise.reject(new OperationError(code, "no"));
    const form = { message: "?", requestedSchema: { properties: { a: { type: "string" } } } };
    expect(await elicit(form, fails("denied"), "calendar")).toEqual({ action: "decline" });
    expect(await elicit(form, fails("expired"), "calendar")).toEqual({ action: "cancel" });
    expect(await elicit(form, undefined, "calendar")).toEqual({ action: "cancel" });
    const url = { mode: "url", url: "https://a.example/", message: "?" };
    expect(await elicit(url, async () => ({}), "calendar")).toEqual({ action: "cancel" });
    expect(await elicit("odd", async () => ({}), "calendar")).toEqual({ action: "cancel" });
  });
});
