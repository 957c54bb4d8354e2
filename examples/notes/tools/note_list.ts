import { defineTool, z } from "lichen";
import { noteSlugs, readNote } from "../note-folder.ts";

export default defineTool({
  description:
    "List the notes, with what they say. Give words to see only the notes that contain them.",
  input: z.object({
    containing: z.string().max(100).optional().describe("Only notes that contain this text"),
  }),
  label: "read",
  async execute({ containing = "" }) {
    const wanted = containing.toLowerCase();
    const found: string[] = [];
    for (const slug of await noteSlugs()) {
      const text = await readNote(slug);
      if (text?.toLowerCase().includes(wanted))
        found.push(`[${slug}]\n${text.slice(0, 1_000).trim()}`);
    }
    if (found.length > 0) return found.join("\n\n");
    return wanted === "" ? "There are no notes yet." : `No note contains "${containing}".`;
  },
});
