// Figures of answers: tokens, speeds, times, and how much of the context they fill.

import { element } from "./dom.js";

/** A prompt of which fewer tokens were computed says nothing about speed. */
const fewTokens = 16;

/** Token counts, speeds and time below a message, as elements. */
export function figuresOf(message) {
  const { usage, prompt, time } = message;
  const texts = [prompt && promptText(prompt), usage && speedText(message)].filter(Boolean);
  const shown = element("span", { className: "note figures" }, texts.join(" · "));
  if (!time) return texts.length ? [shown] : [];
  const date = new Date(time);
  shown.append(texts.length ? " · " : "", element("time", { dateTime: date.toISOString(), title: date.toLocaleString() },
    timeText(date)));
  return [shown];
}

/** `128 tokens, 41.2 tokens/s` */
export function speedText({ usage: { completion_tokens: count }, seconds }) {
  if (count === 1) return "1 token";
  const rate = count && seconds > 0 ? `, ${((count - 1) / seconds).toFixed(1)} tokens/s` : "";
  return `${count.toLocaleString()} tokens${rate}`;
}

/** `prompt 812 tokens (768 cached), 310.5 tokens/s`: the rate counts computed tokens only. */
function promptText({ tokens, cached, seconds }) {
  const computed = tokens - cached;
  const rate = seconds > 0 && computed >= fewTokens ? `, ${(computed / seconds).toFixed(1)} tokens/s` : "";
  return `prompt ${tokens.toLocaleString()} tokens${cached ? ` (${cached.toLocaleString()} cached)` : ""}${rate}`;
}

/** `14:05`, with the date unless it is today. */
function timeText(date) {
  const isToday = date.toDateString() === new Date().toDateString();
  const time = { hour: "2-digit", minute: "2-digit" };
  return date.toLocaleString([], isToday ? time : { ...time, year: "numeric", month: "short", day: "numeric" });
}

/**
 * `at least 812 of 4,096 tokens of context used`; empty if nothing is known.
 *
 * @param messages those that are shown, the answer that is being written among them
 * @param size context length in tokens; `undefined` or `null` if unknown
 */
export function contextText(messages, size) {
  const answers = messages.filter(({ role }) => role === "assistant");
  const known = answers.findLast(({ usage }) => usage?.total_tokens !== undefined);
  if (!known && (answers.length || !size)) return "";
  // Of later messages, and of answers whose server counts at the end only, no count is known.
  const isExact = known === answers.at(-1);
  const used = `${isExact ? "" : "at least "}${(known?.usage.total_tokens ?? 0).toLocaleString()}`;
  return size ? `${used} of ${size.toLocaleString()} tokens of context used` : `${used} tokens used`;
}
