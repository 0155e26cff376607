// Formats numbers, money and times in the user's locale.

const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const percents = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const tenths = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1, minimumFractionDigits: 1 });
const hundredths = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const usd = new Intl.NumberFormat(undefined, { style: "currency", currency: "USD" });
const usdSmall = new Intl.NumberFormat(undefined, { style: "currency", currency: "USD", maximumSignificantDigits: 3 });
const usdShort = new Intl.NumberFormat(undefined, {
  style: "currency",
  currency: "USD",
  notation: "compact",
  maximumFractionDigits: 2,
});
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minute = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const dayUtc = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
const dayMinute = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "numeric", minute: "2-digit" });
const ago = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });

export const DAY = 86_400_000;

/** @param {number} value */
export const count = (value) => whole.format(value);
/** @param {number} value @param {string} noun singular */
export const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
/** @param {number} value */
export const compact = (value) => (Math.abs(value) < 10_000 ? whole.format(value) : short.format(value));
/** @param {number} value 0 to 1 */
export const percent = (value) => percents.format(value);
/** @param {number} value */
export const decimal = (value) => hundredths.format(value);

/** USD; small sums with three significant digits. @param {number} value */
export function money(value) {
  const size = Math.abs(value);
  if (size >= 100_000) return usdShort.format(value);
  return size > 0 && size < 0.1 ? usdSmall.format(value) : usd.format(value);
}

/**
 * A cost; marked if part of it is an estimate. null: not known.
 * @param {number | null} value
 * @param {boolean} estimated
 */
export const cost = (value, estimated) => (value === null ? "–" : `${estimated ? "≈ " : ""}${money(value)}`);

/** @param {number} at ms since 1970 */
export const moment = (at) => full.format(at);
/** @param {number} at */
export const time = (at) => clock.format(at);

/**
 * The start of a bucket; days are UTC days.
 * @param {number} at
 * @param {number} size of the bucket, ms
 */
export const bucket = (at, size) => (size >= DAY ? dayUtc.format(at) : dayMinute.format(at));

/**
 * A label on the time axis.
 * @param {number} at
 * @param {number} step between marks, ms
 * @param {number} size of a bucket, ms
 */
export function mark(at, step, size) {
  if (size >= DAY) return dayUtc.format(at);
  const date = new Date(at);
  return step >= DAY || (date.getHours() === 0 && date.getMinutes() === 0) ? day.format(at) : minute.format(at);
}

const UNITS = /** @type {const} */ ([
  ["day", DAY],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
]);

/**
 * @param {number} at
 * @param {number} now
 */
export function relative(at, now) {
  const gone = Math.min(0, at - now);
  const [unit, size] = UNITS.find(([, one]) => -gone >= one) ?? ["second", 1000];
  return ago.format(Math.trunc(gone / size), unit);
}

/** @param {number | null} ms */
export function duration(ms) {
  if (ms === null) return "–";
  if (ms < 1000) return `${whole.format(ms)} ms`;
  return ms < 60_000 ? `${tenths.format(ms / 1000)} s` : `${tenths.format(ms / 60_000)} min`;
}

/** The time left. @param {number} ms */
export function left(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  return minutes ? `${minutes} min ${String(seconds % 60).padStart(2, "0")} s` : `${seconds} s`;
}

/** A length of time, roughly. @param {number} ms */
export function span(ms) {
  const [unit, size] = UNITS.find(([, one]) => ms >= one) ?? ["second", 1000];
  return counted(Math.max(0, Math.round(ms / size)), unit);
}
