// The state of the database that the fleet stands on.

import { el, fill } from "./dom.js";
import { get } from "./fleetapi.js";
import { count, counted } from "./format.js";
import { badge, num, skeleton, table, total } from "./parts.js";

/** @typedef {import("./fleetshapes.js").FleetHealth} FleetHealth */

const FEW_DAYS = 7; // of partitions ahead: `toolguard fleet maintain` makes 30
const NEARLY_ALL = 0.8; // of the connections
const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

/** @param {import("./fleetapp.js").FleetApp} _app */
export function healthView(_app) {
  const root = el("div", { class: "stack" }, skeleton());
  const load = async () => {
    const found = /** @type {FleetHealth} */ (await get("health"));
    const problems = wrong(found);
    fill(
      root,
      el("div", { class: "totals" }, totals(found)),
      problems.length ? el("ul", { class: "notice bad", "aria-label": "Problems" }, problems.map((text) => el("li", null, text))) : el("p", { class: "notice" }, badge("OK", "green"), " No database problems found."),
      el("section", { class: "card", "aria-label": "Partitions" }, el("h2", null, "Partitions"), partitions(found)),
    );
  };
  return { root, load };
}

/** @param {FleetHealth} found */
function totals(found) {
  return [
    total({ name: "schema", label: "Schema", value: found.version, text: `version ${found.version}`, detail: found.version === found.known ? "up to date" : `this page expects ${found.known}` }),
    total({ name: "server", label: "PostgreSQL", value: 0, text: found.server.split(" ")[0] ?? "", detail: found.standbys ? "with synchronous standbys" : "without a synchronous standby" }),
    total({ name: "size", label: "Database", value: found.size, text: sized(found.size) }),
    total({ name: "connections", label: "Connections", value: found.connections, text: count(found.connections), detail: `of ${count(found.mostConnections)}` }),
  ];
}

/** @param {FleetHealth} found */
function wrong(found) {
  const late = found.partitions.filter(({ ahead }) => ahead === null || ahead < FEW_DAYS).map(({ table: name }) => name);
  return [
    found.version === found.known ? "" : "This page and the database have different schemas: run toolguard fleet migrate, and upgrade the dashboard.",
    found.durable ? "" : "The server confirms transactions before they are on disk (fsync or synchronous_commit is off): after a crash, a used approval could become valid again.",
    found.standbys ? "" : "There is no synchronous standby: if the server fails, the most recent decisions are lost.",
    found.connections > found.mostConnections * NEARLY_ALL ? "Nearly all connections are in use." : "",
    late.length ? `Partitions for the coming days are missing (${late.join(", ")}): run toolguard fleet maintain.` : "",
  ].filter(Boolean);
}

/** @param {FleetHealth} found */
function partitions(found) {
  const rows = found.partitions.map((one) =>
    el(
      "tr",
      null,
      el("th", { scope: "row" }, el("code", null, one.table)),
      el("td", { class: "num" }, counted(one.keepDays, "day")),
      el("td", { class: "num" }, one.ahead === null ? "none" : counted(one.ahead, "day")),
      el("td", { class: "num" }, sized(one.size)),
      el("td", { class: "num" }, count(one.astray)),
    ),
  );
  return table(
    "Partitions",
    ["Table", num("Kept"), num("Created ahead"), num("Size"), num("Rows outside partitions")],
    rows,
  );
}

/** @param {number} bytes */
function sized(bytes) {
  const unit = Math.min(UNITS.length - 1, bytes ? Math.floor(Math.log10(bytes) / 3) : 0);
  return `${(bytes / 1000 ** unit).toFixed(unit ? 1 : 0)} ${UNITS[unit]}`;
}
