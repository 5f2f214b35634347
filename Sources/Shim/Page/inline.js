// Markdown within a line: emphasis, code, links. Follows CommonMark's delimiter algorithm (spec 0.31, "An algorithm for
// parsing nested emphasis and links") without HTML, entities and reference links. Images become links to them, so that
// nothing is loaded. Takes time proportional to the text, whatever is in it.

import { element } from "./dom.js";

/** Delimiters that wait for their other half, and characters in one; more stay text. Both bound how deep elements nest. */
const maximumWaiting = 32;
const longestDelimiter = 6;

const special = /\\|`+|\*+|_+|~~|!?\[|\]|<|\bhttps?:\/\//g;
const punctuation = /[\p{P}\p{S}]/u;
const address = /https?:\/\/[^\s<>"`]+/y;
const destination =
  /\([ \t]{0,4}(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))(?:[ \t]{1,4}"[^"\n]*")?[ \t]{0,4}\)/y;

/** Appends `text` with its markup as elements. */
export function renderInline(text, parent) {
  const container = document.createDocumentFragment();
  const codeEnds = codeSpans(text);
  let delimiters = []; // {char, count, node, canOpen, canClose}
  let brackets = []; // {node, delimiters: how many waited when it came}
  let pending = ""; // text not yet in a node

  const flush = () => {
    if (pending) container.append(pending);
    pending = "";
  };

  special.lastIndex = 0;
  let position = 0;
  for (let match; (match = special.exec(text)); ) {
    const start = match.index;
    const token = match[0];
    pending += text.slice(position, start);
    position = start + token.length;

    if (token === "\\") {
      const next = text[position] ?? "";
      const isEscape = next < "\x7f" && punctuation.test(next);
      if (isEscape) position += 1;
      pending += isEscape ? next : next === "\n" ? "" : "\\";
    } else if (token[0] === "`") {
      const end = codeEnds.get(start);
      if (end === undefined) pending += token;
      else {
        flush();
        container.append(element("code", {}, codeText(text.slice(position, end))));
        position = end + token.length;
      }
    } else if (token === "<" || token.startsWith("http")) {
      const url = matchAt(address, text, token === "<" ? position : start)?.[0];
      const isAuto = token === "<" && url && text[position + url.length] === ">";
      if (!url || (token === "<" && !isAuto)) pending += token;
      else {
        flush();
        const shown = isAuto ? url : withoutTrailing(url);
        container.append(link(shown, shown));
        position = isAuto ? position + url.length + 1 : start + shown.length;
      }
    } else if (token === "[" || token === "![") {
      flush();
      const node = document.createTextNode(token);
      container.append(node);
      brackets.push({ node, delimiters: delimiters.length });
      if (brackets.length > maximumWaiting) brackets.shift();
    } else if (token === "]") {
      const opener = brackets.pop();
      const target = opener && matchAt(destination, text, position);
      const url = target?.[1] ?? target?.[2];
      if (!isWebAddress(url)) pending += token;
      else {
        flush();
        pairDelimiters(delimiters.splice(opener.delimiters));
        const anchor = link(url);
        wrap(opener.node, null, anchor);
        opener.node.remove();
        if (!anchor.textContent) anchor.append(url);
        brackets = []; // links do not nest
        position += target[0].length;
      }
    } else if (token.length > longestDelimiter) {
      pending += token;
    } else {
      flush();
      const node = document.createTextNode(token);
      container.append(node);
      delimiters.push({ node, char: token[0], count: token.length, ...flanking(text, start, position) });
      if (delimiters.length > maximumWaiting) {
        delimiters = pairDelimiters(delimiters).slice(-maximumWaiting / 2); // the oldest make room
        brackets = [];
      }
    }
    special.lastIndex = position;
  }
  pending += text.slice(position);
  flush();
  pairDelimiters(delimiters);
  parent.append(container);
}

function matchAt(pattern, text, position) {
  pattern.lastIndex = position;
  return pattern.exec(text);
}

/** Where each run of backticks that opens a code span has its closing run: the next one of the same length. */
function codeSpans(text) {
  const runs = Array.from(text.matchAll(/`+/g), (match) => ({ start: match.index, length: match[0].length }));
  const ends = new Map();
  const next = new Map();
  for (const run of runs.reverse()) {
    if (next.has(run.length)) ends.set(run.start, next.get(run.length));
    next.set(run.length, run.start);
  }
  return ends;
}

/** Of a code span: spaces that only keep backticks from the edges do not count. */
function codeText(text) {
  const isPadded = text.length > 2 && text.startsWith(" ") && text.endsWith(" ") && text.trim() !== "";
  return isPadded ? text.slice(1, -1) : text;
}

/** An address without what at its end is more likely the sentence's. */
function withoutTrailing(url) {
  let end = url.length;
  let unopened = url.split(")").length - url.split("(").length;
  while (/[.,:;!?'*_~\])]/.test(url[end - 1])) {
    if (url[end - 1] === ")" && unopened-- <= 0) break;
    end -= 1;
  }
  return url.slice(0, end);
}

function isWebAddress(url) {
  return url !== undefined && /^https?:\/\//i.test(url) && URL.canParse(url);
}

function link(url, ...children) {
  if (!isWebAddress(url)) return element("span", {}, ...children);
  return element("a", { href: url, rel: "noopener noreferrer", target: "_blank" }, ...children);
}

function flanking(text, start, end) {
  const before = text[start - 1] ?? " ";
  const after = text[end] ?? " ";
  const isMark = (character) => punctuation.test(character);
  const left = after.trim() !== "" && (!isMark(after) || before.trim() === "" || isMark(before));
  const right = before.trim() !== "" && (!isMark(before) || after.trim() === "" || isMark(after));
  if (text[start] !== "_") return { canOpen: left, canClose: right };
  return { canOpen: left && (!right || isMark(before)), canClose: right && (!left || isMark(after)) };
}

/** Turns pairs of delimiters into elements; returns those that found no partner. */
function pairDelimiters(delimiters) {
  const waiting = [];
  for (const closer of delimiters) {
    while (closer.canClose && closer.count > 0) {
      const index = waiting.findLastIndex((opener) => opener.canOpen && opener.char === closer.char);
      if (index < 0) break;
      const opener = waiting[index];
      const isDouble = opener.count >= 2 && closer.count >= 2;
      const size = isDouble ? 2 : 1;
      waiting.length = index + 1; // what stands between them stays text
      const name = closer.char === "~" ? "del" : isDouble ? "strong" : "em";
      shorten(opener, size);
      shorten(closer, size);
      wrap(opener.node, closer.node, document.createElement(name));
      if (opener.count === 0) waiting.pop();
    }
    if (closer.count > 0) waiting.push(closer);
  }
  return waiting;
}

function shorten(delimiter, size) {
  delimiter.count -= size;
  delimiter.node.data = delimiter.char.repeat(delimiter.count);
}

/** Moves the siblings between two nodes (or after the first) into `wrapper`, and that to where they were. */
function wrap(first, last, wrapper) {
  while (first.nextSibling && first.nextSibling !== last) wrapper.append(first.nextSibling);
  first.after(wrapper);
}
