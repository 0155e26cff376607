import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { visible } from "../../cli/toolguard_cli/dashboard/static/dom.js";
import { CHOICES, GROUPS, MODES, MODE_MEANS, STOP, UNCHARTED, named } from "../../cli/toolguard_cli/dashboard/static/kinds.js";

/** @type {[string, string, string][]} */
const CASES = [
  ["plain text stays as it is", "rm -rf 'x' <b>&amp;</b> äöü 漢字 👍🏽", "rm -rf 'x' <b>&amp;</b> äöü 漢字 👍🏽"],
  ["line ends and tabs stay", "a\n\tb", "a\n\tb"],
  ["a text that would turn around", "invoice\u202Egpj.exe", "invoice<U+202E>gpj.exe"],
  ["isolates", "\u2066a\u2069", "<U+2066>a<U+2069>"],
  ["what has no width", "pay\u200Bpal\uFEFF\u00AD", "pay<U+200B>pal<U+FEFF><U+00AD>"],
  ["control characters", "\u0000\u0007\u001B[2J\u007F\u0085", "<U+0000><U+0007><U+001B>[2J<U+007F><U+0085>"],
  ["a return that would write over the line", "safe\revil", "safe<U+000D>evil"],
  ["lines of their own kind", "a\u2028b\u2029c", "a<U+2028>b<U+2029>c"],
  ["letters without a look", "a\u115F\u1160\u3164\uFFA0\u034F\u17B4\u2800b", "a<U+115F><U+1160><U+3164><U+FFA0><U+034F><U+17B4><U+2800>b"],
  ["variants of a letter", "a\uFE0F\u{E0100}\u180Bb", "a<U+FE0F><U+E0100><U+180B>b"],
  ["spaces of their own kind", "rm\u00A0-rf\u2003\u3000/", "rm<U+00A0>-rf<U+2003><U+3000>/"],
  ["half a character", "a\uD800b", "a<U+D800>b"],
  ["marks that cover, enclose or float", "r\u0336m\u20DD /\u0301", "r<U+0336>m<U+20DD> /<U+0301>"],
  ["what is private or unassigned", "a\uE000\u0378b", "a<U+E000><U+0378>b"],
  ["accents", "a\u0302\u0301 \u0439", "a\u0302\u0301 \u0439"],
  ["joined letters", "می\u200Cخواهم श्रीमान्\u200Cजी בְּרֵאשִׁ֖ית", "می\u200Cخواهم श्रीमान्\u200Cजी בְּרֵאשִׁ֖ית"],
  ["emoji of several signs", "👩\u200D👩\u200D👧 ❤\uFE0F 1\uFE0F\u20E3 🇩🇪 👍🏽", "👩\u200D👩\u200D👧 ❤\uFE0F 1\uFE0F\u20E3 🇩🇪 👍🏽"],
  ["hidden letters", "a\u{E0041}\u{E007F}b", "a<U+E0041><U+E007F>b"],
];

for (const [name, text, shown] of CASES) test(`shown: ${name}`, () => assert.equal(visible(text), shown));

/** The same signs as in the tests of the engine. */
const [, HIDDEN = ""] = /CODES = \(([^)]+)\)/.exec(readFileSync(new URL("../invisible_signs.py", import.meta.url), "utf8")) ?? [];
const CODES = HIDDEN.match(/0x[0-9A-F]+/g) ?? [];

test("every sign that cannot be seen is written out", () => {
  const ofAnotherScript = [0x64b, 0x3099]; // harmless, and the engine writes them out
  const shown = CODES.map(Number).filter((code) => !ofAnotherScript.includes(code));
  const hidden = shown.filter((code) => visible(code === 0x301 ? "q/\u0301w" : `q${String.fromCodePoint(code)}w`).includes(String.fromCodePoint(code)));
  assert.ok(shown.length >= 60);
  assert.deepEqual(hidden, []);
});

test("a kind that nobody knows is shown by its name", () => {
  assert.deepEqual([named("hold").label, named("new-kind").label, named("").label], ["Held", "new-kind", "Other"]);
});

test("names of kinds are names, not what objects are made of", () => {
  for (const kind of ["constructor", "__proto__", "toString"]) assert.equal(named(kind).label, kind);
});

test("a kind is in one column of the chart at most", () => {
  const charted = GROUPS.flatMap(({ kinds }) => kinds);
  const offered = Object.values(CHOICES).flat();
  assert.equal(new Set(offered).size, offered.length);
  assert.equal(new Set([...charted, ...UNCHARTED, STOP]).size, charted.length + UNCHARTED.size + 1);
  assert.deepEqual(
    charted.filter((kind) => !offered.includes(kind)),
    [],
  );
});

test("every mode says what it means", () => assert.deepEqual(Object.keys(MODE_MEANS), [...MODES]));
