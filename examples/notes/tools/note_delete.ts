import { defineTool, z } from "lichen";
import { deleteNote, slugOf } from "../note-folder.ts";

export default defineTool({
  description: "Delete a note for good. A person is asked first.",
  input: z.object({ title: z.string().min(1).max(100).describe("The title or name of the note") }),
  label: "write",
  // Every call waits until a person allows exactly this one.
  confirm: true,
  async execute({ title }) {
    const slug = slugOf(title);
    return (await deleteNote(slug)) ? `Deleted notes/${slug}.md.` : `There is no note ${slug}.`;
  },
});
