// An MCP server with one tool. In a folder of your own: npm install @modelcontextprotocol/server

import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "lichen";

const daysBetween: Readonly<Record<string, number>> = { fern: 2, moss: 1, thyme: 7, tomato: 1 };

serveStdio(() => {
  const server = new McpServer({ name: "almanac", version: "1.0.0" });
  server.registerTool(
    "plant",
    {
      description: "How many days a plant goes without water.",
      inputSchema: z.strictObject({ name: z.string() }),
      outputSchema: z.strictObject({ days: z.number() }),
    },
    ({ name }) => {
      const days = daysBetween[name];
      if (days === undefined)
        return {
          isError: true,
          content: [
            {
              type: "text",
              text: `The almanac knows no ${name}; it knows ${Object.keys(daysBetween).join(", ")}.`,
            },
          ],
        };
      return { structuredContent: { days }, content: [{ type: "text", text: `${days} days` }] };
    },
  );
  return server;
});
