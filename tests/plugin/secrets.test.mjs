import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import { KnownSecrets, ownSecrets, secretsOf } from "../../plugin/gateway/secrets.mjs";
import { ROOT } from "./support.mjs";

const TOKEN = "8f3a1c9b7e2d4f60a1b2c3d4e5f60718";
const KEY = "sk-proj-4e5f607188f3a1c9b7e2d4f60";

/**
 * @param {Record<string, string>} texts by the name of the secret, which is also its mark
 */
function known(texts) {
  const secrets = new KnownSecrets();
  secrets.use(Object.entries(texts).map(([name, text]) => [text, `[${name}]`, name]));
  return secrets;
}

describe("a text", () => {
  /** @type {[string, Record<string, string>, string, string][]} */
  const cases = [
    ["alone", { a: TOKEN }, TOKEN, "[a]"],
    ["in the middle", { a: TOKEN }, `x${TOKEN}y`, "x[a]y"],
    ["at both ends", { a: TOKEN }, `${TOKEN} ${TOKEN}`, "[a] [a]"],
    ["side by side", { a: TOKEN, b: KEY }, TOKEN + KEY + TOKEN, "[a][b][a]"],
    ["one letter is missing", { a: TOKEN }, TOKEN.slice(1), TOKEN.slice(1)],
    ["the beginning of another", { a: "abcdefgh", b: "abcdefghijkl" }, "abcdefghijkl abcdefghij", "[b] [a]ij"],
    ["the end of another", { a: "efghijkl", b: "abcdefghijkl" }, "abcdefghijkl", "[b]"],
    ["inside of another", { a: "cdefghij", b: "abcdefghijkl" }, "-abcdefghijkl-", "-[b]-"],
    ["one runs into the next", { a: "abcdefghij", b: "ghijklmnop" }, "-abcdefghijklmnop-", "-[a]-"],
    ["three overlap", { a: "abcdefgh", b: "efghijkl", c: "ijklmnop" }, "abcdefghijklmnop!", "[a]!"],
    ["it begins again", { a: "abababab" }, "ababababab", "[a]"],
    ["the signs of patterns", { a: "$&.*+?^(|)[" }, "x$&.*+?^(|)[y", "x[a]y"],
    ["the signs of replacements in a mark", { "$&$1": TOKEN }, `x${TOKEN}`, "x[$&$1]"],
    ["letters outside of ASCII", { a: "päßwörter🔑" }, "x päßwörter🔑 y", "x [a] y"],
    ["line ends", { a: "first\nsecond" }, "first\nsecond\n", "[a]\n"],
    ["another case", { a: TOKEN }, TOKEN.toUpperCase(), TOKEN.toUpperCase()],
    ["an empty text", { a: TOKEN }, "", ""],
  ];
  for (const [what, texts, text, expected] of cases)
    test(what, () => {
      assert.equal(known(texts).clean(text), expected);
    });

  test("every secret is found at every place, also among many that begin alike", () => {
    const values = Array.from({ length: 300 }, () => `sk-proj-${randomBytes(12).toString("hex")}`);
    const secrets = known(Object.fromEntries(values.map((value) => [value.slice(-6), value])));
    for (const value of values)
      for (const before of ["", "s", "sk-", "sk-proj-", "sk-proj-sk-proj-"])
        assert.equal(secrets.clean(`${before}${value}sk-proj-`), `${before}[${value.slice(-6)}]sk-proj-`);
  });

  test("names what was in it", () => {
    const names = new Set();
    known({ a: TOKEN, b: KEY, c: "not-there-1" }).clean(`${KEY} ${TOKEN} ${KEY}`, names);
    assert.deepEqual([...names].sort(), ["a", "b"]);
  });

  test("10,000 honest ones stay as they are", () => {
    const secrets = known(Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`s${at}`, randomBytes(16).toString("hex")])));
    const texts = ["docs", "plugin", "cli", "manifests"].flatMap((name) =>
      readdirSync(join(ROOT, name), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && /\.(?:md|py|mjs|js|json|toml)$/.test(entry.name))
        .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8")),
    );
    const whole = texts.join("\n");
    assert.ok(whole.length > 1_000_000);
    for (let at = 0; at < 10_000; at++) {
      const text = whole.slice((at * 7_919) % whole.length).slice(0, 300 + ((at * 31) % 2_000));
      assert.equal(secrets.clean(text), text);
    }
  });
});

describe("a result", () => {
  /** @param {...string} texts */
  const result = (...texts) => ({ role: "toolResult", content: texts.map((text) => ({ type: "text", text })), details: {} });

  test("in several blocks", () => {
    const message = result(`a ${TOKEN}`, "b", `${TOKEN}${TOKEN} c`);
    assert.deepEqual([...known({ t: TOKEN }).cleanResult(message)], ["t"]);
    assert.deepEqual(message, result("a [t]", "b", "[t][t] c"));
  });

  test("split over blocks, wherever it is cut", () => {
    for (let cut = 1; cut < TOKEN.length; cut++) {
      const message = result(`a ${TOKEN.slice(0, cut)}`, `${TOKEN.slice(cut)} b`);
      known({ t: TOKEN }).cleanResult(message);
      assert.deepEqual(message, result("a [t]", " b"));
    }
  });

  test("split over many blocks, with an image between them", () => {
    const image = { type: "image", mimeType: "image/png", data: TOKEN };
    const letters = [...TOKEN].map((text) => ({ type: "text", text }));
    const message = { content: [...letters.slice(0, 9), image, ...letters.slice(9), { type: "text", text: "." }] };
    known({ t: TOKEN }).cleanResult(message);
    const texts = message.content.map((block) => ("text" in block ? block.text : block.data));
    assert.equal(texts.join("|"), `[t]${"|".repeat(9)}${TOKEN}${"|".repeat(TOKEN.length - 9)}|.`);
  });

  test("in the details and in other kinds of blocks", () => {
    const message = {
      content: [{ type: "resource", resource: { uri: "file:///x", text: `r ${TOKEN}` } }, null, TOKEN],
      details: { status: "completed", aggregated: `d ${TOKEN}`, list: [{ deep: TOKEN }], exitCode: 0 },
    };
    known({ t: TOKEN }).cleanResult(message);
    assert.deepEqual(message, {
      content: [{ type: "resource", resource: { uri: "file:///x", text: "r [t]" } }, null, "[t]"],
      details: { status: "completed", aggregated: "d [t]", list: [{ deep: "[t]" }], exitCode: 0 },
    });
  });

  test("as one text", () => {
    const message = { content: `x ${TOKEN}` };
    known({ t: TOKEN }).cleanResult(message);
    assert.deepEqual(message, { content: "x [t]" });
  });

  test("only found where it is to be kept", () => {
    const message = result(TOKEN);
    assert.deepEqual([...known({ t: TOKEN }).cleanResult(message, true)], ["t"]);
    assert.deepEqual(message, result(TOKEN));
  });

  test("that cannot be changed raises nothing", () => {
    const message = Object.freeze({ content: Object.freeze([Object.freeze({ type: "text", text: TOKEN })]) });
    assert.deepEqual([...known({ t: TOKEN }).cleanResult(message)], ["t"]);
  });

  for (const odd of [null, undefined, "text", 5, {}, { content: null }, { content: [null, 5, { type: "text" }] }])
    test(`odd: ${JSON.stringify(odd)}`, () => assert.equal(known({ t: TOKEN }).cleanResult(odd).size, 0));

  test("that contains itself ends", () => {
    /** @type {any} */
    const details = { text: TOKEN };
    details.again = details;
    known({ t: TOKEN }).cleanResult({ content: [], details });
    assert.equal(details.text, "[t]");
  });
});

describe("the list", () => {
  test("of the engine replaces the one before", () => {
    const secrets = known({ a: TOKEN });
    secrets.use([[KEY, "[b]", "b"]]);
    assert.equal(secrets.clean(`${TOKEN} ${KEY}`), `${TOKEN} [b]`);
    secrets.use([]);
    assert.ok(secrets.isEmpty);
  });

  test("of the config counts until the engine has sent one", () => {
    const config = { gateway: { auth: { token: TOKEN, password: { source: "env", id: "X" } } } };
    const secrets = new KnownSecrets();
    secrets.use(ownSecrets(config), { fromEngine: false });
    assert.equal(secrets.clean(TOKEN), "[redacted: gateway token]");
    secrets.use([[KEY, "[b]", "b"]]);
    secrets.use(ownSecrets(config), { fromEngine: false });
    assert.equal(secrets.clean(`${TOKEN} ${KEY}`), `${TOKEN} [b]`);
  });

  for (const odd of [null, "x", [null], [["short", "[a]", "a"]], [[TOKEN, "[a]"]], [[TOKEN, 5, "a"]], {}])
    test(`odd: ${JSON.stringify(odd)}`, () => {
      const secrets = new KnownSecrets();
      secrets.use(odd);
      assert.ok(secrets.isEmpty);
    });

  for (const config of [undefined, {}, { gateway: { auth: {} } }, { gateway: { auth: { token: "short" } } }])
    test(`no token in ${JSON.stringify(config)}`, () => {
      const secrets = new KnownSecrets();
      secrets.use(ownSecrets(config), { fromEngine: false });
      assert.ok(secrets.isEmpty);
    });

  test("is one for all instances that serve a state directory", () => {
    secretsOf("/state/a").use([[TOKEN, "[a]", "a"]]);
    assert.equal(secretsOf("/state/a").clean(TOKEN), "[a]");
    assert.equal(secretsOf("/state/b").clean(TOKEN), TOKEN);
  });
});
