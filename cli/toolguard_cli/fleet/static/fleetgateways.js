// All gateways of one's teams: who they are, when they were last in contact, what waits there, what is behind.

import { el, fill, quoted } from "./dom.js";
import { get } from "./fleetapi.js";
import { count, counted, span } from "./format.js";
import { badge, num, skeleton, table } from "./parts.js";

/** @typedef {import("./fleetshapes.js").FleetGatewayState} FleetGatewayState */

const STALE = 60; // seconds without contact, as `fleet.staleSeconds`
const BEHIND = 300; // seconds without a row; idle gateways send none

/** @param {import("./fleetapp.js").FleetApp} _app */
export function gatewaysView(_app) {
  const root = el("section", { class: "card", "aria-label": "Gateways" }, skeleton());
  const load = async () => {
    const { all, gateways } = await get("gateways");
    const rows = /** @type {FleetGatewayState[]} */ (gateways).map(row);
    const more = all > gateways.length ? el("p", { class: "notice" }, `${all} gateways; the ${gateways.length} that most need attention are shown.`) : null;
    const made = table("Gateways", ["Gateway", "Team", "State", "Version", num("Waiting"), num("Last contact"), num("Audit lines"), num("Last line")], rows, "No gateway has joined yet.");
    made.firstElementChild?.classList.add("wide");
    fill(root, el("h2", null, `Gateways: ${count(all)}`), more, made);
  };
  return { root, load };
}

/** @param {FleetGatewayState} one */
function row(one) {
  /** @param {string} label @param {any} content @param {string} [kind] */
  const cell = (label, content, kind = "") => el("td", { class: kind || null, "data-label": label }, content);
  return el(
    "tr",
    { "data-gateway": one.id },
    el("th", { scope: "row" }, el("code", null, one.id), el("br"), el("small", null, quoted(one.host))),
    cell("Team", quoted(one.team)),
    cell("State", el("div", { class: "badges" }, states(one))),
    cell("Version", quoted(one.version)),
    cell("Waiting", count(one.waiting), "num"),
    cell("Last contact", ago(one.silent), "num"),
    cell("Audit lines", count(one.lines), "num"),
    cell("Last line", one.auditSilent === null ? "never" : ago(one.auditSilent), "num"),
  );
}

/** @param {FleetGatewayState} one */
function states(one) {
  const found = [badge(STATES[one.state] ?? one.state, one.state === "admitted" ? "green" : one.state === "new" ? "amber" : "quiet")];
  if (one.forks) found.push(badge("Quarantined: its audit log was forked", "red"));
  if (one.gaps) found.push(badge(`${counted(one.gaps, "gap")} in its audit log`, "amber"));
  if (one.state === "admitted" && one.silent > STALE) found.push(badge("No contact", "red"));
  else if (one.state === "admitted" && one.auditSilent !== null && one.auditSilent > BEHIND && one.waiting) found.push(badge("Copying has fallen behind", "amber"));
  return found;
}

/** @type {Record<string, string>} */
const STATES = { new: "Not admitted yet", admitted: "Admitted", revoked: "Revoked", left: "Left" };

/** @param {number} seconds */
const ago = (seconds) => (seconds < 2 ? "now" : `${span(seconds * 1000)} ago`);
