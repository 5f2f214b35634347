// What models may write: all that is shown well, and all that must not work.

export const showcase = `# A heading

A paragraph with **bold**, *italic*, ~~struck~~ and \`code\`; a [link](https://example.org/a_(b)) and https://example.org/bare.
The next line stays a line.

## Lists

1. First
   - nested, with \`code\`
   - and **bold**
2. Second

   with a paragraph of its own
- [ ] something to do
- [x] something done

> A quotation
> > within another

| Name | Count | Note |
|:-----|------:|:----:|
| one  | 1 | a \\| b |
| two  | 22 |

\`\`\`swift
struct Greeting {
    let text = "Hello, <world> & everyone"  // a long line of code, so long that it has to be scrolled sideways to be read
}
\`\`\`

---

Last words.
`;

export const formulas = `The roots of $ax^2 + bx + c = 0$ are

$$
x_{1,2} = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}
$$

and \\(e^{i\\pi} + 1 = 0\\) needs no proof. It costs $5, or $6 for two:

\\[
\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}
+ \\sum_{i=1}^n i
\\]

\\begin{align}
a &= b
\\end{align}

$$
- never closed

- a list
`;

export const hostile = `<img src=x onerror="globalThis.wasRun=1"> <script>globalThis.wasRun=1</script>
<svg/onload=globalThis.wasRun=1> <iframe src="javascript:globalThis.wasRun=1"></iframe> <style>body{display:none}</style>

[a](javascript:globalThis.wasRun=1) [b](JaVaScRiPt:globalThis.wasRun=1) [c](data:text/html,<script>1</script>) [d](<javascript:1>)
[e](https://example.org/" onclick="globalThis.wasRun=1) [f](https://example.org "title") <javascript:1> <https://example.org/ok>
![img](https://example.org/beacon.png) ![img](data:image/png;base64,AAAA) &lt;b&gt; &#x3C;script>

# <b onmouseover=globalThis.wasRun=1>heading</b>

\`\`\`\`html
\`\`\`
inner fence
\`\`\`
</code></pre><script>globalThis.wasRun=1</script>
\`\`\`\`

| <img src=x onerror=globalThis.wasRun=1> | b |
|---|---|
| [x](vbscript:1) | \`</td><script>globalThis.wasRun=1</script>\` |

${"> ".repeat(100)}deep
${"- ".repeat(100)}deep

- list
  \`\`\`
  <script>in a list</script>
1) other
   > quote in a list

~~~ " onclick="globalThis.wasRun=1
a fence that is never closed
`;

export const hugeTable = `${"|a".repeat(60)}|\n${"|-".repeat(60)}|\n${`${"|b".repeat(60)}|\n`.repeat(2000)}`;
