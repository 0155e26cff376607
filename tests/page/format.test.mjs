import assert from "node:assert/strict";
import test from "node:test";

import * as format from "../../cli/toolguard_cli/dashboard/static/format.js";

const NOW = Date.UTC(2026, 10, 22, 12);
const local = (/** @type {Intl.NumberFormatOptions} */ options) => (/** @type {number} */ value) =>
  new Intl.NumberFormat(undefined, options).format(value);
const usd = local({ style: "currency", currency: "USD" });

test("money has as many digits as it takes to see it", () => {
  const few = local({ style: "currency", currency: "USD", maximumSignificantDigits: 3 });
  assert.deepEqual([0, 0.1, 12.345, 99_999].map(format.money), [0, 0.1, 12.345, 99_999].map(usd));
  assert.deepEqual([0.000_012_34, 0.09].map(format.money), [0.000_012_34, 0.09].map(few));
});

test("a cost that is in part an estimate is marked, one that nobody knows is none", () => {
  assert.deepEqual([format.cost(2, false), format.cost(2, true), format.cost(null, true)], [usd(2), `≈ ${usd(2)}`, "–"]);
});

test("a countdown is told in minutes and seconds, and never below nothing", () => {
  assert.deepEqual([125_000, 60_000, 59_001, 1, 0, -5_000].map(format.left), [
    "2 min 05 s",
    "1 min 00 s",
    "1 min 00 s",
    "1 s",
    "0 s",
    "0 s",
  ]);
});

test("how long ago: the largest unit that fits, and nothing is told to be in the future", () => {
  const ago = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
  /** @type {[number, number, Intl.RelativeTimeFormatUnit][]} */
  const cases = [
    [0, 0, "second"],
    [1_999, -1, "second"],
    [60_000, -1, "minute"],
    [7_199_999, -1, "hour"],
    [3 * format.DAY, -3, "day"],
    [-9_000, 0, "second"],
  ];
  for (const [gone, value, unit] of cases) assert.equal(format.relative(NOW - gone, NOW), ago.format(value, unit));
});

test("days are days of UTC wherever the reader is", () => {
  const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
  const midnight = Date.UTC(2026, 10, 22);
  assert.equal(format.bucket(midnight, format.DAY), day.format(midnight));
  assert.equal(format.mark(midnight, format.DAY, format.DAY), day.format(midnight));
});

test("durations", () => {
  assert.deepEqual([null, 850, 1_500, 90_000].map(format.duration), [
    "–",
    "850 ms",
    `${local({ minimumFractionDigits: 1 })(1.5)} s`,
    `${local({ minimumFractionDigits: 1 })(1.5)} min`,
  ]);
});
