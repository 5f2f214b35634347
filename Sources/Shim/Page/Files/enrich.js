// Renders formulas with KaTeX and highlights code with highlight.js, if the server has them (docs/page.md); otherwise
// the source text stays. The text is untrusted: its amount is bounded, and work is done in slices to keep the page
// responsive.

import { element } from "./dom.js";

const slice = 8; // milliseconds of work per frame
const longestFormula = 4000; // in characters; longer formulas stay text
const mostFormulas = 1000; // per message; further ones stay text
const longestCode = 20_000;

const katex = library(() => import("/page/katex/katex.min.js"), () => globalThis.katex, () => {
  document.head.append(element("link", { rel: "stylesheet", href: "/page/katex/katex.min.css" }));
});
const highlighter = library(() => import("/page/highlight.js/highlight.min.js"), () => globalThis.hljs);

/** A lazily loaded library: `get()` returns it, or `null` until it is loaded. */
function library(load, found, prepare = () => {}) {
  let [value, loading] = [null, null];
  return {
    get: () => value,
    /** Resolves when loaded; never if that fails. */
    whenLoaded: () => (loading ??= load().then(() => {
      prepare();
      value = found();
    }, () => new Promise(() => {}))),
  };
}

const counts = new WeakMap(); // number of formulas rendered, by root
const waiting = new WeakSet(); // roots to enrich again when a library is loaded

/** Renders formulas and highlights code below `root`, some of it possibly in later frames. */
export function enrich(root) {
  const end = performance.now() + slice;
  for (const node of root.querySelectorAll(".math:not(.done), code[data-language]:not(.done)")) {
    const tool = node.dataset.language === undefined ? katex : highlighter;
    if (!tool.get()) {
      if (!waiting.has(root)) tool.whenLoaded().then(() => goOn(root));
      waiting.add(root);
      continue;
    }
    if (performance.now() > end) return void requestAnimationFrame(() => goOn(root));
    node.classList.add("done");
    if (tool === katex) showFormula(root, node);
    else colour(node);
  }
}

function goOn(root) {
  waiting.delete(root);
  if (root.isConnected) enrich(root);
}

function showFormula(root, node) {
  const count = (counts.get(root) ?? 0) + 1;
  counts.set(root, count);
  const { tex } = node.dataset;
  if (count > mostFormulas || tex.length > longestFormula) return;
  const shown = element("span");
  try {
    const options = { displayMode: node.classList.contains("display"), maxExpand: 200, maxSize: 20, strict: "ignore",
      trust: false, throwOnError: true };
    katex.get().render(tex, shown, options);
    node.replaceChildren(shown);
    // It may be wider than the page; the keyboard scrolls only what has the focus.
    if (options.displayMode) Object.assign(node, { tabIndex: 0, role: "group", ariaLabel: "Formula" });
  } catch {
    // KaTeX cannot parse it: the source stays.
  }
}

function colour(node) {
  const { language } = node.dataset;
  const text = node.textContent;
  if (text.length > longestCode || !highlighter.get().getLanguage(language)) return;
  const root = element("span");
  // The result is HTML, which the page never inserts as a string: its spans are parsed here into elements.
  let parent = root;
  for (const [part, name] of highlighter.get().highlight(language, text, true).value.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
    if (name !== undefined) {
      const span = element("span", { className: name });
      parent.append(span);
      parent = span;
    } else if (part === "</span>") {
      parent = parent.parentNode ?? root;
    } else {
      parent.append(withoutEntities(part));
    }
  }
  if (root.textContent === text) node.replaceChildren(...root.childNodes);
}

const entities = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&amp;": "&" };
const withoutEntities = (text) => text.replace(/&(?:lt|gt|quot|amp|#x27);/g, (entity) => entities[entity]);
