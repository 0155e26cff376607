// The teams, and their kill switches.

import { ask } from "./dialogs.js";
import { button, el, fill, quoted } from "./dom.js";
import { get } from "./fleetapi.js";
import { count } from "./format.js";
import { badge, skeleton, when } from "./parts.js";
import { fact } from "./waiting.js";

/** @typedef {import("./fleetapp.js").FleetApp} FleetApp */
/** @typedef {import("./fleetshapes.js").TeamState} TeamState */

/** @param {FleetApp} app */
export function teamsView(app) {
  const root = el("section", { class: "teams", "aria-label": "Teams" }, skeleton());
  let key = "";
  const load = async () => {
    const { teams } = await get("teams");
    if (JSON.stringify(teams) === key) return;
    key = JSON.stringify(teams);
    fill(root, /** @type {TeamState[]} */ (teams).map((team) => card(app, team)));
  };
  return { root, load };
}

/** @param {string} team */
const named = (team) => (team === "*" ? "The whole fleet" : team);

/** @param {FleetApp} app @param {TeamState} team */
function card(app, team) {
  const whole = team.team === "*";
  const facts = [
    whole ? null : fact("Gateways", count(team.gateways)),
    whole ? null : fact("Waiting calls", count(team.waiting)),
    fact("Policy", team.policyVersion ? `version ${team.policyVersion}` : "", "none"),
  ];
  const switchedOff = el("p", null, badge("Kill switch is off", "green"));
  const switchedOn = [
    el("p", null, badge("Stopped", "red"), " ", team.killAt ? when(team.killAt, app.now) : null, " by ", quoted(team.killBy)),
    team.killWhy ? el("p", null, quoted(team.killWhy)) : null,
  ];
  return el(
    "article",
    { class: `card team ${team.kill ? "stopped" : ""}`, "data-team": team.team, "aria-label": named(team.team) },
    el("h2", null, quoted(named(team.team))),
    el("dl", { class: "facts" }, facts),
    team.kill ? switchedOn : switchedOff,
    controls(app, team),
  );
}

/** @param {FleetApp} app @param {TeamState} team */
function controls(app, team) {
  const may = app.covers(team.team) && (app.role === "admin" || (app.role === "approver" && team.team !== "*" && !team.kill));
  if (!may) return team.kill && team.yours ? el("p", { class: "quiet" }, "Only an admin can turn off the kill switch.") : null;
  const label = team.kill ? "Turn off kill switch" : "Stop everything";
  const props = { class: team.kill ? "" : "danger", "data-focus": `kill ${team.team}` };
  return el("div", { class: "actions" }, button(label, () => change(app, team), props));
}

/** @param {FleetApp} app @param {TeamState} team */
async function change(app, { team, kill }) {
  const body = kill
    ? [el("p", null, "Tool calls in ", quoted(team === "*" ? "the whole fleet" : `team ${team}`), " are judged by the gateways' settings again.")]
    : [el("p", null, "All tool calls by all agents in ", quoted(team === "*" ? "the whole fleet" : `team ${team}`), " are blocked, in every mode, until an admin turns off the kill switch.")];
  const why = await ask({
    title: kill ? "Turn off the kill switch?" : "Stop everything?",
    body,
    action: kill ? "Turn off" : "Stop everything",
    tone: kill ? "primary" : "danger",
    field: "Reason (optional)",
  });
  if (why === null) return;
  await app.change("kill", { team, on: !kill, why });
  app.refresh();
}
