// Searches the audit logs of all gateways of one's teams.

import { button, el, fill, quoted, visible } from "./dom.js";
import { get } from "./fleetapi.js";
import { choice, kindBadge, when } from "./parts.js";

/** @typedef {import("./fleetshapes.js").AuditLineView} AuditLineView */

const PAGE = 100; // lines of an answer
const MOST = 1000; // lines that are kept on the page
const FIELDS = ["team", "gateway", "agent", "event", "nonce"];
const PERIODS = [
  { value: "24", text: "24 hours" },
  { value: "168", text: "7 days" },
  { value: "2160", text: "90 days" },
];

/** @param {import("./fleetapp.js").FleetApp} app */
export function auditView(app) {
  /** @type {Record<string, string>} */
  let asked = { hours: "168" };
  let hours = "168";
  /** @type {AuditLineView[]} */
  let lines = [];
  let whole = false;
  const inputs = FIELDS.map((name) => el("input", { type: "text", name, maxlength: 200, autocomplete: "off", spellcheck: "false" }));
  const feed = el("div", { class: "feed", "aria-live": "polite" });
  const older = button("Show older", () => more(), { "data-focus": "older" });
  const form = el(
    "form",
    { class: "search", role: "search" },
    inputs.map((input, i) => el("label", { class: "field" }, el("span", null, FIELDS[i]), input)),
    choice("Period", PERIODS, hours, (value) => (hours = value)),
    el("button", { type: "submit", class: "primary" }, "Search"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    asked = { hours, ...Object.fromEntries(inputs.map((input) => [input.name, input.value.trim()])) };
    lines = [];
    app.refresh();
  });
  const root = el("section", { class: "card", "aria-label": "Audit" }, el("h2", null, "Audit logs"), form, feed, el("div", { class: "actions" }, older));

  const draw = () => {
    fill(feed, lines.length ? lines.map((line) => entry(line, app.now)) : el("p", { class: "quiet none" }, "No line matches."));
    older.hidden = whole || lines.length >= MOST;
  };
  /** New lines come first; those on the page stay. */
  const load = async () => {
    const { lines: found } = await get("audit", asked);
    const known = new Set(lines.map(({ number }) => number));
    const fresh = /** @type {AuditLineView[]} */ (found).filter(({ number }) => !known.has(number));
    if (!fresh.length && lines.length) return;
    if (!lines.length) whole = found.length < PAGE;
    lines = [...fresh, ...lines].slice(0, MOST);
    draw();
  };
  const more = async () => {
    try {
      const { lines: found } = await get("audit", { ...asked, before: lines.at(-1)?.number ?? 0 });
      whole = found.length < PAGE;
      lines = [...lines, ...found].slice(0, MOST);
      draw();
    } catch (error) {
      app.refused(error);
    }
  };
  return { root, load };
}

/** @param {AuditLineView} line @param {number} now */
function entry({ number, gateway, team, seq, stored, line }, now) {
  const { event, agent, code, reason, nonce } = facts(line);
  return el(
    "article",
    { class: "entry", "data-number": number },
    el(
      "div",
      { class: "entry-head" },
      kindBadge(event),
      agent ? el("b", null, quoted(agent)) : null,
      code ? el("code", null, quoted(code)) : null,
      nonce ? el("code", null, quoted(nonce)) : null,
      el("span", { class: "quiet" }, quoted(team), " ", quoted(gateway), ` line ${seq}`),
      when(stored, now),
    ),
    reason ? el("p", { class: "reason" }, quoted(reason)) : null,
    el("details", { class: "shown" }, el("summary", null, "The line"), el("pre", { class: "line", tabindex: "0", role: "region", "aria-label": `Line ${seq}` }, el("bdi", null, visible(line)))),
  );
}

/** What a line states; whatever it holds, texts come out. @param {string} line */
function facts(line) {
  /** @type {any} */
  let found = null;
  try {
    found = JSON.parse(line);
  } catch {
    // cut, or not JSON
  }
  /** @param {string} name */
  const text = (name) => (typeof found?.[name] === "string" ? found[name].slice(0, 500) : "");
  return { event: text("event") || text("kind"), agent: text("agent"), code: text("code"), reason: text("reason") || text("why"), nonce: text("nonce") };
}
