// The messages of a conversation form a tree: regenerating an answer or editing a message adds a branch beside the old
// one, which stays. A message has an `id`, and as `parent` the id of the message that it follows, or `null`; parents come
// before their children in the list. `conversation.leaf` is the id of the last message shown, or `null`;
// `conversation.removed` is the highest id of a message that was removed.

/** The messages from the first one to the leaf. */
export function shownMessages({ messages, leaf }) {
  const known = new Map(messages.map((message) => [message.id, message]));
  const shown = [];
  for (let message = known.get(leaf); message; message = known.get(message.parent)) shown.push(message);
  return shown.reverse();
}

/** Adds a message after `parent`, and shows it as the last one. */
export function add(conversation, message, parent = conversation.leaf) {
  const id = 1 + Math.max(conversation.removed ?? 0, ...conversation.messages.map((each) => each.id));
  Object.assign(message, { id, parent });
  conversation.messages.push(message);
  conversation.leaf = id;
  return message;
}

/** The message and its alternatives: all children of the same parent. */
export const alternatives = ({ messages }, { parent }) => messages.filter((each) => each.parent === parent);

/** Shows the branch of a message, down to its newest descendant. */
export function choose(conversation, message) {
  conversation.leaf = lastBelow(conversation, message.id);
}

function lastBelow({ messages }, id) {
  // Children come after their parents, so one pass finds the newest child of the newest child and so on.
  const newest = new Map();
  for (const each of messages) newest.set(each.parent, each.id);
  let leaf = id;
  while (newest.has(leaf)) leaf = newest.get(leaf);
  return leaf;
}

/**
 * Removes one message; its children move to its parent.
 *
 * @returns a function that restores it with its children; valid until another message is removed
 */
export function removeMessage(conversation, message) {
  const { id, parent } = message;
  const { leaf, messages } = conversation;
  const index = messages.indexOf(message);
  const children = messages.filter((each) => each.parent === id);
  for (const each of children) each.parent = parent;
  messages.splice(index, 1);
  conversation.removed = Math.max(conversation.removed ?? 0, id); // never reuse the id, since the message may be restored
  if (leaf === id) conversation.leaf = lastBelow(conversation, parent);
  return () => {
    for (const each of children) each.parent = id;
    messages.splice(index, 0, message);
    conversation.leaf = leaf;
  };
}

/** Whether an answer failed before it produced anything. */
export const isEmptyAttempt = ({ messages }, { id, role, content, thoughts, calls }) =>
  role === "assistant" && !content && !thoughts && !calls?.length && !messages.some(({ parent }) => parent === id);

/**
 * Adds ids and parents to messages stored by earlier versions of the page: a single branch.
 *
 * @returns whether the tree is valid: ids are unique, and each parent comes before its children
 */
export function connect(conversation) {
  const { messages } = conversation;
  if (messages.every(({ id }) => id === undefined)) {
    messages.forEach((message, index) => Object.assign(message, { id: index + 1, parent: index || null }));
    conversation.leaf = messages.length || null;
    return true;
  }
  const seen = new Set([null]);
  for (const { id, parent } of messages) {
    if (!Number.isSafeInteger(id) || id < 1 || seen.has(id) || !seen.has(parent)) return false;
    seen.add(id);
  }
  if (!seen.has(conversation.leaf) || (conversation.leaf === null && messages.length)) {
    conversation.leaf = messages.at(-1)?.id ?? null;
  }
  return true;
}
