"use strict";
// What the pages with a script share. Texts of models and rows become text of the page, never markup.

const C_WORDS = "auto break case const constexpr continue default do else extern for if inline namespace return sizeof static struct switch template typename using while __global__ __device__ __shared__ __restrict__ extern";
const C_TYPES = "bool char double float int int32_t int64_t long short size_t unsigned void float4 dim3 cudaStream_t";
const PYTHON_WORDS = "False None True and as assert break class continue def elif else for from if import in is lambda not or pass raise return self while with yield";
const STRINGS = String.raw`"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`;
const LANGUAGES = {
  python: { rule: String.raw`(?<com>#[^\n]*)|(?<str>"""[\s\S]*?"""|'''[\s\S]*?'''|${STRINGS})`, words: PYTHON_WORDS, types: "" },
  c: { rule: String.raw`(?<com>\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<pre>^[ \t]*#[^\n]*)|(?<str>${STRINGS})`, words: C_WORDS, types: C_TYPES },
};
const REST = String.raw`|(?<num>\b\d[\w.]*)|(?<word>[A-Za-z_]\w*)`;
const LANGUAGE_OF = { triton: "python", inline: "python" };
const known = (table, name, otherwise) => Object.hasOwn(table, name) ? table[name] : otherwise;

function tokens(text, language) {
  // [class or "", text] in order; together they are the text.
  const { rule, words, types } = LANGUAGES[language];
  const known = new Map([...words.split(" ").map(one => [one, "k"]), ...types.split(" ").map(one => [one, "kt"])]);
  const found = [];
  let end = 0;
  for (const match of text.matchAll(new RegExp(rule + REST, "gm"))) {
    const { com, pre, str, num, word } = match.groups;
    const kind = com ? "c1" : pre ? "cp" : str ? "s1" : num ? "mi" : known.get(word) || "";
    if (!kind) continue;
    if (match.index > end) found.push(["", text.slice(end, match.index)]);
    found.push([kind, match[0]]);
    end = match.index + match[0].length;
  }
  if (end < text.length) found.push(["", text.slice(end)]);
  return found;
}

function objects({ names, rows }) {
  return rows.map(one => Object.fromEntries(names.map((name, at) => [name, one[at]])));
}

async function unzipped(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

async function inflated(text) {
  const plain = atob(text.trim()), bytes = new Uint8Array(plain.length);
  for (let at = 0; at < plain.length; at += 1) bytes[at] = plain.charCodeAt(at);
  return unzipped(bytes);
}

function el(tag, name, ...children) {
  const found = document.createElement(tag);
  if (name) found.className = name;
  found.append(...children);
  return found;
}

function painted(text, language) {
  return el("pre", "hl", ...tokens(text, language).map(([kind, part]) => kind ? el("span", kind, part) : part));
}

function speedText(row) {
  const times = one => `${one.toFixed(2)}×`;
  return row.speed === null ? "not timed" : `${times(row.speed)} [${times(row.low)}, ${times(row.high)}]`;
}
