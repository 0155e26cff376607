import assert from "node:assert/strict";
import test from "node:test";

import { visible } from "../../cli/toolguard_cli/dashboard/static/dom.js";
import { CHOICES, GROUPS, MODES, MODE_MEANS, STOP, UNCHARTED, named } from "../../cli/toolguard_cli/dashboard/static/kinds.js";

/** @type {[string, string, string][]} */
const CASES = [
  ["plain text stays as it is", "rm -rf 'x' <b>&amp;</b> äöü 漢字 👍🏽", "rm -rf 'x' <b>&amp;</b> äöü 漢字 👍🏽"],
  ["line ends and tabs stay", "a\n\tb", "a\n\tb"],
  ["a text that would turn around", "invoice\u202Egpj.exe", "invoice⟦202E⟧gpj.exe"],
  ["isolates", "\u2066a\u2069", "⟦2066⟧a⟦2069⟧"],
  ["what has no width", "pay\u200Bpal\uFEFF\u00AD", "pay⟦200B⟧pal⟦FEFF⟧⟦00AD⟧"],
  ["control characters", "\u0000\u0007\u001B[2J\u007F\u0085", "⟦0000⟧⟦0007⟧⟦001B⟧[2J⟦007F⟧⟦0085⟧"],
  ["a return that would write over the line", "safe\revil", "safe⟦000D⟧evil"],
  ["lines of their own kind", "a\u2028b\u2029c", "a⟦2028⟧b⟦2029⟧c"],
  ["letters without a look", "a\u115F\u1160\u3164\uFFA0\u034F\u17B4\u2800b", "a⟦115F⟧⟦1160⟧⟦3164⟧⟦FFA0⟧⟦034F⟧⟦17B4⟧⟦2800⟧b"],
  ["variants of a letter", "a\uFE0F\u{E0100}\u180Bb", "a⟦FE0F⟧⟦E0100⟧⟦180B⟧b"],
  ["spaces of their own kind", "rm\u00A0-rf\u2003\u3000/", "rm⟦00A0⟧-rf⟦2003⟧⟦3000⟧/"],
  ["half a character", "a\uD800b", "a⟦D800⟧b"],
  ["hidden letters", "a\u{E0041}\u{E007F}b", "a⟦E0041⟧⟦E007F⟧b"],
];

for (const [name, text, shown] of CASES) test(`shown: ${name}`, () => assert.equal(visible(text), shown));

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
