// The state of each gateway and its sessions: mode, kill switch, trust, budget, signals.

import { checkpointButton, modeChoice, switchButton } from "./controls.js";
import { el, quoted, visible } from "./dom.js";
import * as format from "./format.js";
import { badge, bar, when } from "./parts.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./shapes.js").StandingView} StandingView */

const LOW = 0.3;
const MOST = 50;

/** The effect of each budget mode. @type {Record<string, string>} */
const BUDGET_MEANS = {
  enforce: "calls are held",
  soft: "high-stakes calls are held",
  shadow: "only noted",
  disabled: "not counted",
};
/** @type {[string, string][]} */
const MEANINGS = [
  ["Budget", "the risk that a session may take before somebody reviews it; each risky call uses up some of it."],
  ["Trust", "rises with normal calls and approvals, and falls with warnings and violations; riskier calls need more."],
  ["Checkpoint", "confirms that you have reviewed what the agent did, and refills its budget."],
  ["Only noted (shadow)", "spending is recorded, but no call is held because of it, whatever the mode of the gateway."],
];

/** @param {App} app @param {string} only the one gateway to show; empty for all */
export function standings(app, only) {
  const gateways = (app.state?.gateways ?? []).filter(({ id }) => !only || id === only);
  return [
    gateways.length ? app.lockNote() : null,
    gateways.some(({ standings }) => standings.length) &&
      el(
        "dl",
        { class: "meanings" },
        MEANINGS.map(([term, text]) => el("div", null, el("dt", null, `${term}: `), el("dd", null, text))),
      ),
    ...gateways.map((gateway) =>
      el(
        "section",
        { class: "card", "data-gateway": gateway.id },
        el(
          "header",
          { class: "row" },
          el("h3", null, quoted(gateway.id)),
          el(
            "div",
            { class: "actions" },
            modeChoice(app, gateway),
            switchButton(app, gateway.id, gateway.killSwitch !== null, "guard"),
          ),
        ),
        gateway.standings.length
          ? el(
              "div",
              { class: "standings" },
              gateway.standings.slice(0, MOST).map((one) => session(app, gateway.id, one)),
            )
          : el("p", { class: "quiet" }, "No recent sessions."),
        gateway.standings.length > MOST &&
          el(
            "p",
            { class: "quiet" },
            `${format.counted(gateway.standings.length - MOST, "more session")}; those that need attention are also in `,
            el("code", null, "toolguard status"),
          ),
      ),
    ),
  ];
}

/** @param {App} app @param {string} gateway @param {StandingView} standing */
function session(app, gateway, standing) {
  const { agent, session: name, left, size, trust, mode, signals, waits, touched } = standing;
  return el(
    "article",
    { class: "standing", "data-session": name },
    el("h4", null, quoted(agent, "unnamed agent"), " ", el("small", null, quoted(name))),
    el(
      "p",
      { class: "badges" },
      waits && badge("next call may be held", "amber"),
      badge(`budget: ${BUDGET_MEANS[mode] ?? mode} (${mode})`, "quiet"),
      touched ? when(touched, app.now) : null,
    ),
    gauge("Trust", trust, 1, format.percent(trust), `${agent} ${name}`),
    gauge("Budget left", left, size, `${format.decimal(left)} of ${format.decimal(size)}`, `${agent} ${name}`),
    signals.length
      ? el(
          "ul",
          { class: "signals" },
          signals.map((signal) => el("li", null, quoted(signal))),
        )
      : el("p", { class: "quiet" }, "Nothing unusual."),
    checkpointButton(app, gateway, standing),
  );
}

/** @param {string} label @param {number} value @param {number} most @param {string} text @param {string} whose */
function gauge(label, value, most, text, whose) {
  const share = most > 0 ? Math.max(0, Math.min(1, value / most)) : 0;
  const props = {
    class: "gauge",
    role: "meter",
    "aria-label": visible(`${label}, ${whose}`),
    "aria-valuemin": 0,
    "aria-valuemax": most,
    "aria-valuenow": value,
    "aria-valuetext": text,
  };
  const shown = share < LOW ? `${text}, low` : text;
  return el(
    "div",
    props,
    el("span", { class: "label" }, label),
    bar(share, share < LOW ? "red" : "green"),
    el("span", null, shown),
  );
}
