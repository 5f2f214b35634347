// Searching in all conversations: titles, and messages of all branches.

/** Characters of a message that are shown before and after what was found. */
const margin = 30;

/**
 * The conversations that contain a text, whatever its case; all of them without one.
 *
 * @returns [{conversation, message?, snippet?: {before, found, after}}]; `message` is the first that has the text
 */
export function search(conversations, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return conversations.map((conversation) => ({ conversation }));
  return conversations.flatMap((conversation) => {
    const message = conversation.messages.find(({ content }) => content.toLowerCase().includes(wanted));
    if (message) return [{ conversation, message, snippet: snippet(message.content, wanted) }];
    return conversation.title.toLowerCase().includes(wanted) ? [{ conversation }] : [];
  });
}

function snippet(content, wanted) {
  // Lower case may be longer than upper case; then the part shown is a little beside what was found.
  const at = content.toLowerCase().indexOf(wanted);
  const end = at + wanted.length;
  const start = Math.max(0, at - margin);
  const flat = (text) => text.replace(/\s+/g, " ");
  return {
    before: (start ? "…" : "") + flat(content.slice(start, at)), found: flat(content.slice(at, end)),
    after: flat(content.slice(end, end + margin)),
  };
}
