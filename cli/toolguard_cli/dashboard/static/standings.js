// How each gateway and its sessions stand: mode, kill switch, trust, budget, what was noticed.

import { checkpointButton, modeChoice, switchButton } from "./controls.js";
import { el, quoted, visible } from "./dom.js";
import * as format from "./format.js";
import { badge, bar, when } from "./parts.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./shapes.js").Standing} Standing */

const LOW = 0.3;
const MOST = 60;

/** @param {App} app @param {string} only the one gateway that is looked at */
export function standings(app, only) {
  const gateways = (app.state?.gateways ?? []).filter(({ id }) => !only || id === only);
  return [
    gateways.length ? app.lockNote() : null,
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
          : el("p", { class: "quiet" }, "No session has used its budget or trust yet."),
        gateway.standings.length > MOST &&
          el(
            "p",
            { class: "quiet" },
            `${format.count(gateway.standings.length - MOST)} more sessions are in `,
            el("code", null, "toolguard budget"),
          ),
      ),
    ),
  ];
}

/** @param {App} app @param {string} gateway @param {Standing} standing */
function session(app, gateway, standing) {
  const { agent, session: name, left, size, trust, mode, signals, waits, touched } = standing;
  return el(
    "article",
    { class: "standing", "data-session": name },
    el("h4", null, quoted(agent, "unnamed agent"), " ", el("small", null, quoted(name))),
    el(
      "p",
      { class: "badges" },
      waits && badge("next call may wait", "amber"),
      badge(`budget: ${mode}`, "quiet"),
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
      : el("p", { class: "quiet" }, "Nothing unusual noticed."),
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
  const told = share < LOW ? `${text}, low` : text;
  return el(
    "div",
    props,
    el("span", { class: "label" }, label),
    bar(share, share < LOW ? "red" : "green"),
    el("span", null, told),
  );
}
