// Conversations as files: JSON with all of them, or Markdown with the shown branch of one.

import { add, connect, shownMessages } from "./branches.js";
import { isImageURL, isTextURL } from "./attachments.js";
import { samplingSettings, textSettings } from "./settings.js";
import { newConversation } from "./store.js";

const format = "localllm-conversations";

export const toJSON = (conversations) => JSON.stringify({ format, version: 1, conversations }, null, 1);

/** HTML comments mark the start of each message, since messages may contain the same headings. */
export function toMarkdown(conversation) {
  const { title, settings } = conversation;
  const parts = [`# ${title.replace(/\s+/g, " ")}`];
  if (settings.system) parts.push("<!-- message system -->", "## System prompt", escaped(settings.system));
  for (const message of shownMessages(conversation)) {
    const isUser = message.role === "user";
    const notes = [message.role, message.time && new Date(message.time).toISOString(),
      !isUser && message.model && `model=${encodeURIComponent(message.model)}`];
    parts.push(`<!-- message ${notes.filter(Boolean).join(" ")} -->`, `## ${isUser ? "You" : message.model ?? "Assistant"}`);
    const line = (kind) => ({ name }) => `*${kind}: ${escaped(name.replace(/[*\s]+/g, " "))}*`;
    parts.push(...(message.images ?? []).map(line("Image")), ...(message.documents ?? []).map(line("Document")));
    parts.push(escaped(message.content), ...(message.calls ?? []).map(callText));
  }
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

function callText({ name, arguments: text, result }) {
  const block = (content) => `~~~~\n${escaped(content)}\n~~~~`;
  return `Called \`${name}\`:\n\n${block(text)}${result === undefined ? "" : `\n\nResult:\n\n${block(result)}`}`;
}

const comment = /^<!-- message (system|user|assistant)(?: (\d{4}-[\dT:.Z-]+))?(?: model=(\S+))? -->$/;
const escaped = (text) => text.replace(/^\\*<!-- message /gm, "\\$&");
const unescaped = (text) => text.replace(/^\\(?=\\*<!-- message )/gm, "");

/**
 * The conversations of a file: this page's JSON or Markdown, or messages as OpenAI's API takes them.
 *
 * @throws {Error} describes the error in the file
 */
export function parseFile(text, name) {
  const start = text.trimStart();
  if (!/^[[{]/.test(start)) return [fromMarkdown(text, name)];
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${name}: expected JSON or Markdown of this page (${error.message})`);
  }
  if (value.format === format) {
    expect(value.version === 1, `${name}: version`, "1", value.version);
    expect(Array.isArray(value.conversations), `${name}: conversations`, "a list", value.conversations);
    return value.conversations.map((each, index) => checkedConversation(each, `${name}: conversations[${index}]`));
  }
  const messages = Array.isArray(value) ? value : value.messages;
  expect(Array.isArray(messages), `${name}: messages`, "a list", messages);
  return [fromMessages(messages, name)];
}

/** Whether two conversations have the same messages. */
export function haveSameMessages(...conversations) {
  const [a, b] = conversations.map(({ messages }) => JSON.stringify(messages.map((each) => checkedMessage(each, ""))));
  return a === b;
}

function fromMarkdown(text, name) {
  const lines = text.split(/\r?\n/);
  const conversation = named(/^# (.+)/m.exec(text)?.[1] ?? name);
  let message = null;
  const finish = (end) => {
    if (!message) return;
    const text = lines.slice(message.line + 1, end).join("\n").trim();
    const content = unescaped(text.replace(/^## .*\n*/, "")); // the heading repeats the comment's role
    if (message.role === "system") conversation.settings.system = content;
    else add(conversation, { role: message.role, content, time: message.time, model: message.model });
  };
  lines.forEach((line, index) => {
    const match = comment.exec(line);
    if (!match) return;
    finish(index);
    const [, role, time, model] = match;
    message = { role, line: index, time: time && Date.parse(time), model: model && decodeURIComponent(model) };
  });
  finish(lines.length);
  if (!message) throw new Error(`${name}: expected Markdown that this page exported, with a line “<!-- message user -->”`);
  return conversation;
}

function fromMessages(messages, name) {
  const conversation = named(name.replace(/\.\w+$/, ""));
  messages.forEach((message, index) => {
    const place = `${name}: messages[${index}]`;
    const { role, content: given } = message ?? {};
    const { content, images } = Array.isArray(given) ? fromParts(given, role, `${place}.content`) : { content: given };
    expect(["system", "developer", "user", "assistant"].includes(role), `${place}.role`, "system, user or assistant", role);
    expect(typeof content === "string", `${place}.content`, "a string", content);
    if (role === "user" || role === "assistant") add(conversation, { role, content, images });
    else conversation.settings.system = [conversation.settings.system, content].filter(Boolean).join("\n\n");
  });
  return conversation;
}

/** Content in parts: texts, and in a user's message images. */
function fromParts(parts, role, place) {
  const [texts, images] = [[], []];
  parts.forEach((part, index) => {
    const url = part?.image_url?.url;
    if (part?.type === "text" && isText(part.text)) texts.push(part.text);
    else if (part?.type === "image_url" && role === "user" && isText(url) && isImageURL(url)) {
      images.push({ id: `${newConversation().id}-${index}`, name: "image", url });
    } else expect(false, `${place}[${index}]`, "a text, or a user's image as a data: URL", part);
  });
  return { content: texts.join("\n"), images: images.length ? images : undefined };
}

const named = (title) => ({ ...newConversation(null, {}), title: title.slice(0, 120), isNamed: true });

/** A conversation reduced to known fields of the expected types. */
function checkedConversation(value, place) {
  expect(isObject(value), place, "an object", value);
  const { id, title, isNamed, created, updated, model, settings = {}, messages, leaf } = value;
  expect(isText(id) && id !== "", `${place}.id`, "a string", id);
  expect(isText(title), `${place}.title`, "a string", title);
  expect(isObject(settings), `${place}.settings`, "an object", settings);
  for (const [name, setting] of Object.entries(settings)) checkSetting(name, setting, `${place}.settings.${name}`);
  expect(Array.isArray(messages), `${place}.messages`, "a list", messages);
  const known = { ...newConversation(isText(model) ? model : null, settings), id, title, isNamed: isNamed === true, leaf,
    messages: messages.map((message, index) => checkedMessage(message, `${place}.messages[${index}]`)) };
  if (isTime(created)) known.created = created;
  if (isTime(updated)) known.updated = updated;
  expect(connect(known), `${place}.messages`, "unique ids, and parents before their children", "others");
  return known;
}

const textForms = { tools: "JSON with a list of tools", schema: "a JSON schema" };

/** Checks a setting, since settings are sent with each request. */
function checkSetting(name, value, place) {
  const problem = Object.hasOwn(textSettings, name) && textSettings[name];
  if (problem) return expect(isText(value) && !problem(value), place, textForms[name] ?? "a string", value);
  expect(samplingSettings.includes(name), place, "a setting that this page has", name);
  expect(Number.isFinite(value), place, "a number", value);
}

function checkedMessage(message, place) {
  expect(isObject(message), place, "an object", message);
  const { id, parent, role, content, thoughts, error, model, time, calls, images, documents, finish, usage, seconds, prompt, isEdited } = message;
  expect(role === "user" || role === "assistant", `${place}.role`, "user or assistant", role);
  expect(isText(content), `${place}.content`, "a string", content);
  const known = { id, parent, role, content, isEdited: isEdited === true || undefined };
  for (const [name, text] of Object.entries({ thoughts, error, model, finish })) {
    expect(text === undefined || text === null || isText(text), `${place}.${name}`, "a string", text);
    if (isText(text)) known[name] = text;
  }
  expect(time === undefined || isTime(time), `${place}.time`, "milliseconds since 1970", time);
  if (time !== undefined) known.time = time;
  if (calls !== undefined) {
    expect(Array.isArray(calls), `${place}.calls`, "a list", calls);
    known.calls = calls.map((call, index) => checkedCall(call, index, `${place}.calls[${index}]`));
  }
  for (const [kind, files] of Object.entries({ images, documents })) {
    if (files === undefined) continue;
    expect(Array.isArray(files) && files.length && role === "user", `${place}.${kind}`, `a user's list of ${kind}`, files);
    known[kind] = files.map((file, index) => checkedFile(kind, file, `${place}.${kind}[${index}]`));
  }
  // Statistics are shown only if complete.
  if (areNumbers(usage, "prompt_tokens", "completion_tokens", "total_tokens")) Object.assign(known, { usage });
  if (Number.isFinite(seconds)) known.seconds = seconds;
  if (areNumbers(prompt, "tokens", "cached", "seconds")) known.prompt = prompt;
  return known;
}

function checkedCall(call, index, place) {
  expect(isObject(call), place, "an object", call);
  const { id, name, arguments: text, result } = call;
  expect([id, name, text, result ?? ""].every(isText), place, "id, name, arguments and result as strings", call);
  return { index, id, name, arguments: text, result: result ?? undefined };
}

function checkedFile(kind, file, place) {
  expect(isObject(file), place, "an object", file);
  const { id, name, url } = file;
  expect([id, name].every(isText) && id !== "", place, "id and name as strings", file);
  const [isExpected, expected] = kind === "images" ? [isImageURL, "a PNG, JPEG, WebP or GIF data: URL"] : [isTextURL, "a text/plain data: URL"];
  expect(url === undefined || (isText(url) && isExpected(url)), `${place}.url`, expected, url);
  return url === undefined ? { id, name } : { id, name, url };
}

const isText = (value) => typeof value === "string";
const isTime = (value) => Number.isFinite(value) && Math.abs(value) <= 8.64e15; // those that a Date can hold
const areNumbers = (value, ...names) => isObject(value) && names.every((name) => Number.isFinite(value[name]));
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function expect(isMet, place, expected, found) {
  if (!isMet) throw new Error(`${place}: expected ${expected}, found ${JSON.stringify(found)?.slice(0, 60) ?? "nothing"}`);
}
