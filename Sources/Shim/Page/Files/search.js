// Searches titles and messages of all branches of all conversations.

/** Characters of context shown before and after a match. */
const margin = 30;

/**
 * The conversations that contain a text, ignoring case; all of them for an empty text.
 *
 * @returns [{conversation, message?, snippet?: {before, found, after}}]; `message` is the first match
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
  // Lowercasing may change lengths; the snippet is then slightly off.
  const at = content.toLowerCase().indexOf(wanted);
  const end = at + wanted.length;
  const start = Math.max(0, at - margin);
  const flat = (text) => text.replace(/\s+/g, " ");
  return {
    before: (start ? "…" : "") + flat(content.slice(start, at)), found: flat(content.slice(at, end)),
    after: flat(content.slice(end, end + margin)),
  };
}
