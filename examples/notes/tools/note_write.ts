import { defineTool, z } from "lichen";
import { slugOf, writeNote } from "../note-folder.ts";

export default defineTool({
  description: "Write a note. A note of the same title is replaced.",
  input: z.object({
    title: z.string().min(1).max(100).describe("A few words; they become the note's name"),
    text: z.string().min(1).max(20_000).describe("What the note says, in Markdown"),
  }),
  // It changes something, but twice the same note is one note: after a crash it may be written again.
  label: "write",
  replaySafe: true,
  async execute({ title, text }) {
    const slug = slugOf(title);
    const isNew = await writeNote(slug, `# ${title}\n\n${text.trim()}\n`);
    return isNew ? `Wrote notes/${slug}.md.` : `notes/${slug}.md says exactly that already.`;
  },
});
