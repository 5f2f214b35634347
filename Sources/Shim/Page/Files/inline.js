// Markdown within a line: emphasis, code, links. Follows CommonMark's delimiter algorithm (spec 0.31, "An algorithm for
// parsing nested emphasis and links") without HTML, entities and reference links. Images become links, so that nothing
// is loaded. Run time is linear in the text.

import { element } from "./dom.js";

/** Maximum number of open delimiters and length of one; others stay text. Both bound the nesting of elements. */
const maximumWaiting = 32;
const longestDelimiter = 6;

const special = /\\[([]|\\|\$\$?|`+|\*+|_+|~~|!?\[|\]|<|\bhttps?:\/\//g;
const punctuation = /[\p{P}\p{S}]/u;
const address = /https?:\/\/[^\s<>"`]+/y;
const destination =
  /\([ \t]{0,4}(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))(?:[ \t]{1,4}"[^"\n]*")?[ \t]{0,4}\)/y;

/** Appends `text` with its markup as elements. */
export function renderInline(text, parent) {
  parent.append(new InlineParser(text).parse());
}

class InlineParser {
  #text;
  #position = 0;
  #container = document.createDocumentFragment();
  #pending = ""; // text not yet in a node
  #codeEnds;
  #noFormula = new Set(); // closing marks known not to follow
  #delimiters = []; // {node, char, count, canOpen, canClose}
  #brackets = []; // {node, delimiters: number open before it}

  constructor(text) {
    this.#text = text;
    this.#codeEnds = codeSpans(text);
  }

  parse() {
    for (let match; (match = matchFrom(special, this.#text, this.#position)); ) {
      this.#pending += this.#text.slice(this.#position, match.index);
      this.#position = match.index + match[0].length;
      this.#read(match[0], match.index);
    }
    this.#pending += this.#text.slice(this.#position);
    this.#flush();
    pairDelimiters(this.#delimiters);
    return this.#container;
  }

  #read(token, start) {
    if (token[0] === "$" || token === "\\(" || token === "\\[") this.#readFormula(token);
    else if (token === "\\") this.#readEscape();
    else if (token[0] === "`") this.#readCode(token, start);
    else if (token === "<") this.#readAddress(token, this.#position);
    else if (token[0] === "h") this.#readAddress("", start);
    else if (token === "]") this.#closeBracket();
    else if (token.endsWith("[")) this.#brackets.push({ node: this.#mark(token), delimiters: this.#delimiters.length });
    else if (token.length > longestDelimiter) this.#pending += token;
    else this.#readDelimiter(token, start);
    if (this.#brackets.length > maximumWaiting) this.#brackets.shift();
  }

  #flush() {
    if (this.#pending) this.#container.append(this.#pending);
    this.#pending = "";
  }

  #append(node) {
    this.#flush();
    this.#container.append(node);
  }

  /** Adds a separate text node that may become markup. */
  #mark(token) {
    const node = document.createTextNode(token);
    this.#append(node);
    return node;
  }

  /** `$x$`, `$$x$$`, `\(x\)` or `\[x\]`; its content is not parsed as Markdown. */
  #readFormula(token) {
    const mark = { "$": "$", "$$": "$$", "\\(": "\\)", "\\[": "\\]" }[token];
    const start = this.#position;
    const end = this.#formulaEnd(mark, start);
    if (end < 0) {
      this.#pending += token[0] === "\\" ? token[1] : token; // an escaped bracket or a currency sign
      return;
    }
    this.#position = end + mark.length;
    const source = this.#text.slice(start - token.length, this.#position);
    this.#append(mathNode(source, this.#text.slice(start, end), token === "$$" || token === "\\["));
  }

  /** End of the formula that begins at `start`, or -1. The rules for single dollars exclude amounts of money. */
  #formulaEnd(mark, start) {
    const text = this.#text;
    const isDollar = mark === "$";
    if (this.#noFormula.has(mark)) return -1;
    if (isDollar && (/\w/.test(text[start - 2] ?? "") || !/\S/.test(text[start] ?? ""))) return -1;
    for (let at = start; at < text.length; at += 1) {
      if (text.startsWith(mark, at)) {
        const isMoney = isDollar && (/\s/.test(text[at - 1]) || /[\w$]/.test(text[at + 1] ?? ""));
        return at > start && !isMoney ? at : -1;
      }
      if (isDollar && text[at] === "`") return -1;
      if (text[at] === "\\") at += 1; // the next character belongs to it
    }
    this.#noFormula.add(mark);
    return -1;
  }

  #readEscape() {
    const next = this.#text[this.#position] ?? "";
    const isEscape = next < "\x7f" && punctuation.test(next);
    if (isEscape) this.#position += 1;
    this.#pending += isEscape ? next : next === "\n" ? "" : "\\";
  }

  #readCode(token, start) {
    const end = this.#codeEnds.get(start);
    if (end === undefined) {
      this.#pending += token;
      return;
    }
    this.#append(element("code", {}, codeText(this.#text.slice(this.#position, end))));
    this.#position = end + token.length;
  }

  /** A bare URL, or one between `<` and `>`. */
  #readAddress(bracket, start) {
    const url = matchFrom(address, this.#text, start)?.[0] ?? "";
    const shown = bracket ? url : withoutTrailing(url);
    if (!isWebAddress(shown) || (bracket && this.#text[start + url.length] !== ">")) {
      this.#pending += this.#text.slice(start - bracket.length, this.#position);
      return;
    }
    this.#append(link(shown, shown));
    this.#position = start + shown.length + bracket.length;
  }

  #closeBracket() {
    const opener = this.#brackets.pop();
    const target = opener && matchFrom(destination, this.#text, this.#position);
    const url = target?.[1] ?? target?.[2];
    if (!isWebAddress(url)) {
      this.#pending += "]";
      return;
    }
    this.#flush();
    pairDelimiters(this.#delimiters.splice(opener.delimiters));
    const anchor = link(url);
    wrap(opener.node, null, anchor);
    opener.node.remove();
    if (!anchor.textContent) anchor.append(url);
    this.#brackets = []; // links do not nest
    this.#position += target[0].length;
  }

  #readDelimiter(token, start) {
    const sides = flanking(this.#text, start, this.#position);
    this.#delimiters.push({ node: this.#mark(token), char: token[0], count: token.length, ...sides });
    if (this.#delimiters.length <= maximumWaiting) return;
    this.#delimiters = pairDelimiters(this.#delimiters).slice(-maximumWaiting / 2); // drop the oldest
    this.#brackets = [];
  }
}

/** A formula, shown as its source until it is rendered. */
export function mathNode(source, tex, isDisplay) {
  const node = element("span", { className: isDisplay ? "math display" : "math" }, source);
  node.dataset.tex = tex;
  return node;
}

function matchFrom(pattern, text, position) {
  pattern.lastIndex = position;
  return pattern.exec(text);
}

/** Start of the closing run for each run of backticks: the next run of the same length. */
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

/** The text of a code span, without one space of padding on each side. */
function codeText(text) {
  const isPadded = text.length > 2 && text.startsWith(" ") && text.endsWith(" ") && text.trim() !== "";
  return isPadded ? text.slice(1, -1) : text;
}

/** A URL without trailing punctuation that more likely belongs to the sentence. */
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

/** Turns pairs of delimiters into elements; returns the unpaired ones. */
function pairDelimiters(delimiters) {
  const waiting = [];
  for (const closer of delimiters) {
    while (closer.canClose && closer.count > 0) {
      const index = waiting.findLastIndex((opener) => opener.canOpen && opener.char === closer.char);
      if (index < 0) break;
      const opener = waiting[index];
      const isDouble = opener.count >= 2 && closer.count >= 2;
      const size = isDouble ? 2 : 1;
      waiting.length = index + 1; // delimiters between the two stay text
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

/** Replaces the siblings between two nodes (or after the first) by `wrapper`, which gets them as children. */
function wrap(first, last, wrapper) {
  while (first.nextSibling && first.nextSibling !== last) wrapper.append(first.nextSibling);
  first.after(wrapper);
}
