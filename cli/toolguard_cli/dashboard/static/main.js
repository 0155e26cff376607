// Starts the page: theme, tabs, range, live events.

import { App } from "./app.js";
import { dropToken, takeToken, token } from "./api.js";
import { recolor } from "./charts.js";
import { coded, el, fill, quoted, visible } from "./dom.js";
import { say } from "./dialogs.js";
import * as format from "./format.js";
import { acceptButton, switchButton } from "./controls.js";
import { cannotTell } from "./proof.js";
import { Socket } from "./socket.js";
import { approvals } from "./tabs/approvals.js";
import { gateways } from "./tabs/gateways.js";
import { guard } from "./tabs/guard.js";
import { live } from "./tabs/live.js";
import { models } from "./tabs/models.js";
import { overview } from "./tabs/overview.js";
import { startTheme } from "./theme.js";

/**
 * A tab. `refresh` asks for all again; `event` is told of each live event while the tab is open or `always`; `changed` of the
 * state of gateways and of what waits.
 * @typedef {{ root: HTMLElement, refresh: () => unknown, event?: (event: any) => void, changed?: (what: "state" | "pending") => void, left?: () => void, follows?: string[] }} Tab
 */

const RANGES = /** @type {const} */ (["24h", "7d", "30d"]);
const KEPT_RANGE = "toolguard.range";
const GAP = 1500; // ms between two requests for the same numbers while events pour in
const SHOWN = 5; // settings that one banner names
const BEAT = 1000;
const IDLE = 60_000; // ms after which numbers are asked for again where nothing happens
const HOUR = 3_600_000; // every bucket ends with one
const TIMELESS = ["Live", "Approvals"]; // tabs that show no range of time
const UNPROVEN = "this browser cannot check who answers here, as there is no TLS; the token is sent all the same";
const FOREIGN =
  "Who answers at this address does not know this page's token: it is another program, or the dashboard has a new token. " +
  "It is sent nothing. `toolguard dashboard --open` opens the page as it is now. ";
const MAKERS = { Overview: overview, Gateways: gateways, Models: models, Live: live, Guard: guard, Approvals: approvals };

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

takeToken();
const app = new App(onChanged, reconnect);
const socket = new Socket(onEvent, onConnection, onRefused);
/** @type {Map<string, Tab>} */
const made = new Map();
/** @type {Map<string, { button: HTMLButtonElement, panel: HTMLElement }>} */
const places = new Map();
let open = "Overview";
let asked = 0;
let askedHour = 0;
let greeted = false;
/** Why the metrics cannot be read. @type {string[]} */
let problems = [];
/** What the banners were made of. */
let shown = "";
/** Calls of which it was told that they wait. @type {Set<string> | null} */
let told = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let soon;

startTheme(byId("theme"), recolor);
startRange();
startTabs();
byId("unlock").addEventListener("click", () => void app.unlock());
void app.loadState().catch(() => undefined);
void app.loadPending().catch(() => undefined);
void socket.connect();
setInterval(beat, BEAT);
document.addEventListener("visibilitychange", () => !document.hidden && soonAgain());

function startRange() {
  const kept = localStorage.getItem(KEPT_RANGE);
  app.range = RANGES.find((one) => one === kept) ?? "24h";
  for (const input of byId("ranges").querySelectorAll("input")) {
    input.checked = input.value === app.range;
    input.addEventListener("change", () => {
      app.range = RANGES.find((one) => one === input.value) ?? "24h";
      localStorage.setItem(KEPT_RANGE, app.range);
      again();
    });
  }
}

function startTabs() {
  for (const name of Object.keys(MAKERS)) {
    const slug = name.toLowerCase();
    const button = el(
      "button",
      { type: "button", role: "tab", id: `tab-${slug}`, "aria-controls": slug, on: { click: () => go(name) } },
      name,
    );
    const panel = el("section", { role: "tabpanel", id: slug, "aria-labelledby": `tab-${slug}`, hidden: true });
    places.set(name, { button, panel });
    byId("tabs").append(button);
    byId("main").append(panel);
  }
  byId("tabs").addEventListener("keydown", onTabKey);
  addEventListener("hashchange", () => {
    if (location.hash.includes("token=")) return takeNewToken();
    show(named());
  });
  show(named());
}

/** The tab that the address names. */
function named() {
  const slug = location.hash.slice(1).toLowerCase();
  return Object.keys(MAKERS).find((name) => name.toLowerCase() === slug) ?? open;
}

/** @param {string} name */
function go(name) {
  history.replaceState(null, "", `#${name.toLowerCase()}`);
  show(name);
}

/** @param {string} name */
function show(name) {
  if (name !== open) made.get(open)?.left?.();
  open = name;
  for (const [other, { button, panel }] of places) {
    button.setAttribute("aria-selected", String(other === name));
    button.tabIndex = other === name ? 0 : -1;
    panel.hidden = other !== name;
  }
  places.get(name)?.button.scrollIntoView({ block: "nearest", inline: "nearest" });
  byId("ranges").hidden = TIMELESS.includes(name);
  title();
  if (!made.has(name)) {
    const tab = MAKERS[/** @type {keyof MAKERS} */ (name)](app);
    made.set(name, tab);
    places.get(name)?.panel.append(el("h2", { class: "sr-only" }, name), tab.root);
  }
  again();
}

/** @param {KeyboardEvent} event */
function onTabKey(event) {
  const names = [...places.keys()];
  const at = names.indexOf(open);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + names.length, Home: 0, End: names.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const name = names[to % names.length] ?? open;
  go(name);
  places.get(name)?.button.focus();
}

function again() {
  clearTimeout(soon);
  soon = undefined;
  asked = Date.now();
  askedHour = Math.floor(app.now / HOUR);
  void made.get(open)?.refresh();
}

/** Numbers have changed: asks at once, and then not again for a while. */
function soonAgain() {
  if (document.hidden || soon !== undefined) return;
  soon = setTimeout(again, Math.max(100, asked + GAP - Date.now()));
}

/** @param {any} event */
function onEvent(event) {
  if (event.type === "hello") {
    app.clock(event.now);
    if (greeted) reload();
    else void app.loadState().catch(() => undefined); // it may have changed before the server watched for this page
    greeted = true;
  } else if (event.type === "pending") {
    app.hold(event);
  } else if (event.type === "state") {
    void app.loadState().catch(() => undefined);
  } else if (event.type === "tick") {
    app.clock(event.now);
    tellProblems(event.problems ?? []);
  }
  for (const tab of made.values()) tab.event?.(event);
  if (made.get(open)?.follows?.includes(event.type)) soonAgain();
}

/** @param {"state" | "pending"} what */
function onChanged(what) {
  if (what === "pending") {
    const waiting = title();
    const button = places.get("Approvals")?.button;
    if (button) fill(button, "Approvals", waiting ? el("span", { class: "count" }, ` ${format.count(waiting)}`) : null);
    announce();
  } else {
    byId("unlock").hidden = app.state === null || app.mayChange;
    drawBanners();
    const version = app.state && `toolguard ${app.state.version}`;
    fill(byId("foot"), version, app.mayChange && cannotTell() ? ` · ${UNPROVEN}` : null);
  }
  for (const tab of made.values()) tab.changed?.(what);
}

/** The calls that wait for a word now. */
function undecided() {
  return (app.pending?.pending ?? []).filter(({ status }) => status === "pending");
}

/** Says in the name and the icon of the page how many calls wait; answers it. */
function title() {
  const waiting = undecided().length;
  document.title = `${waiting ? `(${format.count(waiting)}) ` : ""}${open} · toolguard`;
  const icon = `/static/${waiting ? "icon-waits.svg" : "icon.svg"}`;
  const link = byId("icon");
  if (link.getAttribute("href") !== icon) link.setAttribute("href", icon);
  return waiting;
}

/** Each new call that waits is told once, to who does not look there. */
function announce() {
  const now = new Map(undecided().map((held) => [`${held.nonce} ${held.gateway}`, held]));
  const fresh = [...now].filter(([key]) => told && !told.has(key)).map(([, held]) => held);
  told = new Set([...(told ?? []), ...now.keys()]);
  const [first] = fresh;
  if (!first) return;
  const more = fresh.length > 1 ? `, and ${format.count(fresh.length - 1)} more` : "";
  fill(byId("told"), visible(`A call waits for a person: ${first.tool} (${first.nonce})${more}.`));
}

/** @param {string[]} now */
function tellProblems(now) {
  const over = problems.length > 0 && !now.length;
  problems = now;
  drawBanners();
  if (over) again();
}

/** Only where they change: a screen reader reads each new one aloud. */
function drawBanners() {
  const switches = (app.state?.gateways ?? []).map(({ id, killSwitch }) => killSwitch && [id, killSwitch]);
  const weaker = (app.state?.gateways ?? []).map(({ id, weakened, weakenedMark }) => [id, weakened, weakenedMark]);
  const stands = socket.state === "stale" ? socket.heard : 0;
  const next = JSON.stringify([switches, weaker, app.mayChange, stands, socket.foreign, problems]);
  if (next === shown) return;
  shown = next;
  fill(byId("banners"), banners(), weakenings(), socket.foreign ? foreign() : stale(), problems.map(unreadable));
}

function banners() {
  return (app.state?.gateways ?? [])
    .filter(({ killSwitch }) => killSwitch)
    .map(({ id, killSwitch }) =>
      el(
        "div",
        { class: "banner", role: "alert" },
        el("p", null, el("strong", null, "Kill switch on: "), "no tool call of ", quoted(id), " runs."),
        el("p", { class: "quiet" }, ...since(killSwitch)),
        switchButton(app, id, true, "banner"),
      ),
    );
}

/** What guards less than what a person accepted, until one accepts it or the setting is put back. */
function weakenings() {
  return (app.state?.gateways ?? [])
    .filter(({ weakened }) => weakened.length)
    .map((gateway) =>
      el(
        "div",
        { class: "banner weaker", role: "alert" },
        el("p", null, el("strong", null, "Weaker than accepted: "), quoted(gateway.id), " guards less than before."),
        el("ul", null, gateway.weakened.slice(0, SHOWN).map(weakening), moreThan(gateway.weakened.length)),
        acceptButton(app, gateway),
      ),
    );
}

/** @param {import("./shapes.js").Weakened} one */
function weakening({ text, since: at }) {
  return el("li", null, quoted(text), at ? el("span", { class: "quiet" }, ` since ${format.moment(at)}`) : null);
}

/** @param {number} count */
function moreThan(count) {
  return count > SHOWN ? el("li", { class: "quiet" }, `and ${format.count(count - SHOWN)} more (toolguard status)`) : null;
}

/** What is shown is as old as the last word of the server. */
function stale() {
  if (socket.state !== "stale") return null;
  const retry = el("button", { type: "button", "data-focus": "reconnect", on: { click: reconnect } }, "Try now");
  return el(
    "p",
    { class: "notice bad stale-note", role: "alert" },
    `The server has not answered since ${format.time(socket.heard)}; what is shown here is from then. `,
    retry,
  );
}

/** Somebody else listens on the port of the dashboard, or its token is a new one. */
function foreign() {
  const retry = el("button", { type: "button", "data-focus": "reconnect", on: { click: reconnect } }, "Try now");
  const enter = el("button", { type: "button", "data-focus": "enter", on: { click: () => app.unlock() } }, "Enter token");
  return el("p", { class: "notice bad stale-note", role: "alert" }, coded(FOREIGN), retry, enter);
}

/** @param {string} problem */
function unreadable(problem) {
  return el("p", { class: "notice bad stale-note", role: "alert" }, "What is recorded cannot be read: ", quoted(problem));
}

/** @param {import("./shapes.js").Switch | null} thrown */
function since(thrown) {
  if (!thrown) return [];
  const at = thrown.at ? `Since ${format.moment(thrown.at)}` : "For some time";
  return [at, thrown.by && [" by ", quoted(thrown.by)], thrown.why && [": ", quoted(thrown.why)]].flat();
}

/** @param {import("./socket.js").Connection} state */
function onConnection(state) {
  const texts = { live: "Connected", reconnecting: "Reconnecting", stale: `Stale since ${format.time(socket.heard)}` };
  byId("connection").dataset["state"] = state;
  fill(byId("connection-text"), texts[state]);
  document.documentElement.classList.toggle("stale", state === "stale");
  drawBanners();
}

function onRefused() {
  if (token()) {
    dropToken();
    say("The token is not the right one any more. `toolguard dashboard --open` opens this page with the new one.", "bad");
    reconnect();
  } else {
    void app.unlock();
  }
}

function reload() {
  void app.loadState().catch(() => undefined);
  void app.loadPending().catch(() => undefined);
  again();
}

function reconnect() {
  greeted = false;
  void socket.connect();
  reload();
}

function takeNewToken() {
  takeToken();
  reconnect();
}

/** What changes by time alone: how long ago something was, and what falls out of the range. */
function beat() {
  if (document.hidden) return;
  const now = app.now;
  const old = Date.now() - asked >= IDLE || Math.floor(now / HOUR) !== askedHour;
  const chooses = document.activeElement instanceof HTMLSelectElement; // a list that is open would close
  if (old && socket.state === "live" && !chooses) reload();
  for (const one of places.get(open)?.panel.querySelectorAll("time[data-at]") ?? []) {
    const text = format.relative(Number(one.getAttribute("data-at")), now);
    if (one.textContent !== text) one.textContent = text;
  }
  made.get(open)?.event?.({ type: "beat" });
}
