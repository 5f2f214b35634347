// Renders a model's Markdown as elements: GitHub's dialect (headings, lists, quotes, tables, fenced code) without HTML.
// The text is untrusted: it becomes text nodes, code, and http and https links only; run time and nesting are bounded.

import { button, copy, element } from "./dom.js";
import { mathNode, renderInline } from "./inline.js";

const deepest = 12; // maximum nesting of quotes and lists
const longestFormula = 200; // in lines
const maximumCells = 4000; // of a table; a larger one is shown as text

/** Shows a growing text. Blocks that can no longer change are kept, so only new text is parsed. */
export class MarkdownView {
  #root;
  #stableEnd = 0; // in characters: earlier text no longer changes
  #unstable = []; // nodes that more text may change

  constructor(root) {
    this.#root = root;
  }

  show(text) {
    for (const node of this.#unstable) node.remove();
    const lines = text.slice(this.#stableEnd).split("\n");
    const blocks = parse(lines, 0);
    this.#root.append(...blocks.map((block) => block.node));
    // The last line is incomplete: it may still turn the line before into a table's header.
    let kept = blocks.findLastIndex((block) => block.line + 2 < lines.length);
    if (kept < 0) kept = 0;
    this.#unstable = blocks.slice(kept).map((block) => block.node);
    for (const line of lines.slice(0, blocks[kept]?.line ?? 0)) this.#stableEnd += line.length + 1;
  }
}

const fence = /^( {0,3})(`{3,}|~{3,})(.*)$/;
const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const rule = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const quote = /^ {0,3}> ?/;
const marker = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4}|$)/;
const task = /^\[([ xX])\][ \t]+(?=\S)/;
/** Start of a display formula: `$$`, `\[` or `\begin{name}`. */
const formula = /^ {0,3}(?:(\$\$)(?!\$)|(\\\[)|\\begin\{([a-zA-Z]+\*?)\})/;

/** Parses lines into blocks: {node, line}, the element and its first line. */
function parse(lines, depth) {
  const blocks = [];
  for (let line = 0; line < lines.length; ) {
    if (lines[line].trim() === "") {
      line += 1;
      continue;
    }
    const kind = kindOf(lines, line, depth);
    const { node, end } = readers[kind](lines, line, depth);
    blocks.push({ node, line });
    line = end;
  }
  return blocks;
}

function kindOf(lines, at, depth) {
  const line = lines[at];
  const opening = fence.exec(line);
  if (opening && !(opening[2][0] === "`" && opening[3].includes("`"))) return "code";
  if (heading.test(line)) return "heading";
  if (rule.test(line)) return "rule";
  if (depth < deepest && quote.test(line)) return "quote";
  if (depth < deepest && marker.test(line)) return "list";
  if (formulaAt(lines, at)) return "formula";
  if (tableColumns(lines, at)) return "table";
  return "paragraph";
}

const readers = {
  code(lines, at) {
    const [, indent, mark, info] = fence.exec(lines[at]);
    const closes = (line) => {
      const closing = fence.exec(line);
      return closing && closing[2][0] === mark[0] && closing[2].length >= mark.length && closing[3].trim() === "";
    };
    let end = at + 1;
    while (end < lines.length && !closes(lines[end])) end += 1;
    const text = lines.slice(at + 1, end).map((line) => withoutIndent(line, indent.length)).join("\n");
    return { node: codeBlock(text, info.trim().split(/\s/)[0], end < lines.length), end: end + 1 };
  },

  formula(lines, at) {
    const { end, isWhole } = formulaAt(lines, at);
    const text = lines.slice(at, end).join("\n").trim();
    if (!isWhole) return { node: element("p", {}, text), end };
    const isMarked = !text.startsWith("\\begin"); // an environment has no delimiters to strip
    return { node: element("div", {}, mathNode(text, isMarked ? text.slice(2, -2) : text, true)), end };
  },

  heading(lines, at) {
    const [, marks, text] = heading.exec(lines[at]);
    // Levels 1 and 2 are the page's own headings.
    const node = element(`h${Math.min(6, marks.length + 2)}`, { className: `level-${marks.length}` });
    renderInline((text ?? "").trim(), node);
    return { node, end: at + 1 };
  },

  rule: (_, at) => ({ node: element("hr"), end: at + 1 }),

  quote(lines, at, depth) {
    let end = at;
    while (end < lines.length && quote.test(lines[end])) end += 1;
    const inner = lines.slice(at, end).map((line) => line.replace(quote, ""));
    return { node: element("blockquote", {}, ...nodes(inner, depth)), end };
  },

  list(lines, at, depth) {
    const first = marker.exec(lines[at])[2];
    const isOrdered = first.length > 1;
    const node = element(isOrdered ? "ol" : "ul");
    if (isOrdered) node.start = parseInt(first, 10);
    let end = at;
    for (let item; (item = itemAt(lines, end, first)); end = item.end) {
      node.append(listItem(item.lines, depth));
    }
    return { node, end };
  },

  table(lines, at) {
    const columns = tableColumns(lines, at);
    let end = at + 2;
    while (end < lines.length && lines[end].includes("|")) end += 1;
    if ((end - at) * columns.length > maximumCells) return { node: codeBlock(lines.slice(at, end).join("\n"), "", false), end };
    const row = (line, name) => {
      const texts = cells(line);
      return element("tr", {}, ...columns.map((align, index) => {
        const cell = element(name, align ? { className: align } : {});
        renderInline(texts[index] ?? "", cell);
        return cell;
      }));
    };
    const table = element("table", {},
      element("thead", {}, row(lines[at], "th")),
      element("tbody", {}, ...lines.slice(at + 2, end).map((line) => row(line, "td"))));
    const frame = { className: "table", role: "region", ariaLabel: "Table", tabIndex: 0 };
    return { node: element("div", frame, table), end };
  },

  paragraph(lines, at, depth) {
    let end = at + 1;
    while (end < lines.length && lines[end].trim() !== "" && kindOf(lines, end, depth) === "paragraph") end += 1;
    const node = element("p");
    renderInline(lines.slice(at, end).map((line) => line.trimStart()).join("\n"), node);
    return { node, end };
  },
};

const nodes = (lines, depth) => parse(lines, depth + 1).map((block) => block.node);

function listItem(lines, depth) {
  const box = task.exec(lines[0]);
  if (!box) return element("li", {}, ...nodes(lines, depth));
  const isDone = box[1] !== " ";
  const mark = element("span", { className: "box", role: "img", ariaLabel: isDone ? "Done" : "Not done" }, isDone ? "☑" : "☐");
  const content = nodes([lines[0].slice(box[0].length), ...lines.slice(1)], depth);
  return element("li", { className: "task" }, mark, element("div", {}, ...content));
}

/**
 * The display formula that begins at a line: {end, isWhole}, where `end` is the line after it; `null` if there is none.
 * Formulas have no blank lines. An unclosed one extends to the end of the text, since the rest may still come.
 */
function formulaAt(lines, at) {
  const opening = formula.exec(lines[at]);
  if (!opening) return null;
  const mark = opening[1] ?? (opening[2] ? "\\]" : `\\end{${opening[3]}}`);
  for (let line = at; line < lines.length; line += 1) {
    const text = line === at ? lines[at].slice(opening[0].length) : lines[line];
    const found = text.indexOf(mark);
    if (found >= 0) return text.slice(found + mark.length).trim() === "" ? { end: line + 1, isWhole: true } : null;
    const isBlank = text.trim() === "" && line > at;
    if ((isBlank && line < lines.length - 1) || line - at > longestFormula) return null;
  }
  return { end: lines.length, isWhole: false };
}

/** The next item of a list whose first marker is `first`: its lines without marker and indentation, and the line after it. */
function itemAt(lines, at, first) {
  while (at < lines.length && lines[at].trim() === "") at += 1;
  const opening = at < lines.length ? marker.exec(lines[at]) : null;
  if (!opening || rule.test(lines[at]) || opening[2].at(-1) !== first.at(-1)) return null;
  const width = opening[0].length;
  const content = [lines[at].slice(width)];
  let end = at + 1;
  let isAfterBlank = false;
  for (; end < lines.length; end += 1) {
    const line = lines[end];
    const isBlank = line.trim() === "";
    // Two spaces suffice: models often indent no more below a number.
    const isInside = isBlank || indentation(line) >= 2;
    if (!isInside && (isAfterBlank || kindOf(lines, end, 0) !== "paragraph")) break;
    content.push(withoutIndent(line, width));
    isAfterBlank = isBlank;
  }
  return { lines: content, end };
}

function indentation(line) {
  return line.length - line.replace(/^[ \t]+/, "").length;
}

function withoutIndent(line, width) {
  return line.slice(Math.min(width, indentation(line)));
}

/** Alignment of the columns of the table that begins at a line; `null` if none does. */
function tableColumns(lines, at) {
  if (!lines[at].includes("|") || !lines[at + 1]?.includes("-")) return null;
  const marks = cells(lines[at + 1]);
  if (!marks.every((mark) => /^:?-+:?$/.test(mark)) || marks.length !== cells(lines[at]).length) return null;
  return marks.map((mark) => (mark.endsWith(":") ? (mark.startsWith(":") ? "center" : "right") : ""));
}

/** The cells of a table row; `\|` is a literal bar. */
function cells(line) {
  const parts = line.trim().replaceAll("\\|", "\u0000").split("|").map((cell) => cell.trim().replaceAll("\u0000", "|"));
  if (parts[0] === "") parts.shift();
  if (parts.at(-1) === "") parts.pop();
  return parts;
}

/** @param isWhole whether the block is complete and can be highlighted */
function codeBlock(text, language, isWhole) {
  const copyCode = async (event) => {
    try {
      await copy(text);
      event.target.textContent = "Copied";
    } catch (error) {
      event.target.textContent = error.message;
    }
    setTimeout(() => (event.target.textContent = "Copy"), 2000);
  };
  const bar = element("div", { className: "bar" },
    element("span", {}, language), button("Copy", copyCode, { ariaLabel: "Copy code" }));
  const name = language ? `Code, ${language}` : "Code";
  const code = element("code", {}, text);
  if (isWhole && language) code.dataset.language = language;
  return element("div", { className: "code" }, bar, element("pre", { tabIndex: 0, role: "region", ariaLabel: name }, code));
}
