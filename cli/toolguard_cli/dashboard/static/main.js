// Starts the page: theme, tabs, range, live events.

import { App } from "./app.js";
import { dropToken, REOPEN, takeToken, token } from "./api.js";
import { bell } from "./bell.js";
import { recolor } from "./charts.js";
import { button, coded, el, fill, quoted, visible } from "./dom.js";
import { say } from "./dialogs.js";
import * as format from "./format.js";
import { acceptButton, switchButton } from "./controls.js";
import { ordered } from "./phone.js";
import { cannotProve } from "./proof.js";
import { Socket } from "./socket.js";
import { approvals } from "./tabs/approvals.js";
import { gateways } from "./tabs/gateways.js";
import { guard } from "./tabs/guard.js";
import { models } from "./tabs/models.js";
import { overview } from "./tabs/overview.js";
import { timeline } from "./tabs/timeline.js";
import { startTheme } from "./theme.js";

/**
 * A tab. `refresh` reloads its data; `event` receives each live event; `changed` is called when the gateways' state or the
 * held calls change; `left` when another tab is opened. `follows`: types of events that trigger a refresh. `timeless`: hides
 * the time range. `address`: what stands behind its name in the address, empty or from `?` on; `read` takes it from there.
 * @typedef {{ root: HTMLElement, refresh: () => unknown, address?: () => string, read?: (query: string) => void, event?: (event: any) => void, changed?: (what: "state" | "pending") => void, left?: () => void, follows?: string[], timeless?: boolean }} Tab
 */

const RANGES = /** @type {const} */ (["24h", "7d", "30d"]);
const KEPT_RANGE = "toolguard.range";
const GAP = 1500; // ms between two refreshes of the open tab while events arrive
const SHOWN = 5; // settings listed in one banner
const BEAT = 1000; // ms
const IDLE = 60_000; // ms without a refresh, after which the data is reloaded
const HOUR = 3_600_000; // every bucket ends on the hour
const UNPROVEN = "without TLS this browser cannot verify the server; the token is sent anyway";
const FOREIGN =
  "The server at this address does not know this page's token: it is another program, or the dashboard has a new token. " +
  `Nothing is sent to it. ${REOPEN} `;
/** The tabs, in order. A new one needs a file in `tabs/` and a line here; its data, an API module and a line in `routes.py`. */
const MAKERS = { Overview: overview, Gateways: gateways, Models: models, Timeline: timeline, Guard: guard, Approvals: approvals };

/** Earlier tabs, and where one finds now what they showed. @type {Record<string, string>} */
const MOVED = { live: "timeline" };

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

takeToken();
const app = new App(onChanged, reconnect);
const socket = new Socket(onEvent, onConnection, onRefused);
/** @type {Map<string, Tab>} */
const made = new Map();
/** @type {Map<string, { tab: HTMLButtonElement, panel: HTMLElement }>} */
const places = new Map();
const names = ordered(Object.keys(MAKERS));
let open = names[0] ?? "Overview";
let asked = 0;
let askedHour = 0;
let greeted = false;
/** Why the metrics cannot be read. @type {string[]} */
let problems = [];
/** The state that the banners show, as JSON. */
let shown = "";
/** Held calls that were announced. @type {Set<string> | null} */
let announced = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let soon;

const notifier = bell(byId("bell"));
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
  for (const name of names) {
    const slug = name.toLowerCase();
    const tab = button(name, () => go(name), { role: "tab", id: `tab-${slug}`, "aria-controls": slug });
    const panel = el("section", { role: "tabpanel", id: slug, "aria-labelledby": `tab-${slug}`, hidden: true });
    places.set(name, { tab, panel });
    byId("tabs").append(tab);
    byId("main").append(panel);
  }
  byId("tabs").addEventListener("keydown", onTabKey);
  addEventListener("hashchange", () => {
    if (location.hash.includes("token=")) return takeNewToken();
    show(named());
  });
  show(named());
}

/** The tab named in the address. */
function named() {
  const slug = (location.hash.slice(1).split("?")[0] ?? "").toLowerCase();
  return Object.keys(MAKERS).find((name) => name.toLowerCase() === (MOVED[slug] ?? slug)) ?? open;
}

/** @param {string} name */
function go(name) {
  history.replaceState(null, "", `#${name.toLowerCase()}${made.get(name)?.address?.() ?? ""}`);
  show(name);
}

/** @param {string} name */
function show(name) {
  if (name !== open) made.get(open)?.left?.();
  open = name;
  for (const [other, { tab, panel }] of places) {
    tab.setAttribute("aria-selected", String(other === name));
    tab.tabIndex = other === name ? 0 : -1;
    panel.hidden = other !== name;
  }
  places.get(name)?.tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  if (!made.has(name)) {
    const tab = MAKERS[/** @type {keyof MAKERS} */ (name)](app);
    made.set(name, tab);
    places.get(name)?.panel.append(el("h2", { class: "sr-only" }, name), tab.root);
  }
  made.get(name)?.read?.(location.hash.split("?")[1] ?? "");
  byId("ranges").hidden = made.get(name)?.timeless ?? false;
  title();
  again();
}

/** @param {KeyboardEvent} event */
function onTabKey(event) {
  const at = names.indexOf(open);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + names.length, Home: 0, End: names.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const name = names[to % names.length] ?? open;
  go(name);
  places.get(name)?.tab.focus();
}

function again() {
  clearTimeout(soon);
  soon = undefined;
  asked = Date.now();
  askedHour = Math.floor(app.now / HOUR);
  void made.get(open)?.refresh();
}

/** Refreshes the open tab, at most once per `GAP`. */
function soonAgain() {
  if (document.hidden || soon !== undefined) return;
  soon = setTimeout(again, Math.max(100, asked + GAP - Date.now()));
}

/** @param {any} event */
function onEvent(event) {
  if (event.type === "hello") {
    app.clock(event.now);
    app.greet(event.mayChange === true);
    if (greeted) reload();
    else void app.loadState().catch(() => undefined); // may have changed before the server began to watch for this page
    greeted = true;
  } else if (event.type === "pending") {
    app.hold(event);
  } else if (event.type === "state") {
    void app.loadState().catch(() => undefined);
  } else if (event.type === "tick") {
    app.clock(event.now);
    showProblems(event.problems ?? []);
  }
  for (const tab of made.values()) tab.event?.(event);
  if (made.get(open)?.follows?.includes(event.type)) soonAgain();
}

/** @param {"state" | "pending"} what */
function onChanged(what) {
  if (what === "pending") {
    const waiting = title();
    const tab = places.get("Approvals")?.tab;
    if (tab) fill(tab, "Approvals", waiting ? el("span", { class: "count" }, ` ${format.count(waiting)}`) : null);
    announce();
  } else {
    byId("unlock").hidden = app.state === null || app.mayChange;
    drawBanners();
    const version = app.state && `toolguard ${app.state.version}`;
    fill(byId("foot"), version, app.mayChange && cannotProve() ? ` · ${UNPROVEN}` : null);
  }
  for (const tab of made.values()) tab.changed?.(what);
}

/** The calls that wait for a decision. */
function undecided() {
  return (app.pending?.pending ?? []).filter(({ status }) => status === "pending");
}

/** Shows in the page's title and icon how many calls wait; returns that number. */
function title() {
  const waiting = undecided().length;
  document.title = `${waiting ? `(${format.count(waiting)}) ` : ""}${open} · toolguard`;
  const icon = `/static/${waiting ? "icon-waits.svg" : "icon.svg"}`;
  const link = byId("icon");
  if (link.getAttribute("href") !== icon) link.setAttribute("href", icon);
  return waiting;
}

/** Announces each newly held call once, for users who have another tab open. */
function announce() {
  const now = new Map(undecided().map((held) => [`${held.nonce} ${held.gateway}`, held]));
  const fresh = [...now].filter(([key]) => announced && !announced.has(key)).map(([, held]) => held);
  announced = new Set([...(announced ?? []), ...now.keys()]);
  const [first] = fresh;
  if (!first) return;
  notifier.ring(fresh);
  const more = fresh.length > 1 ? `, and ${format.count(fresh.length - 1)} more` : "";
  fill(byId("announcement"), visible(`A call is waiting for approval: ${first.tool} (${first.nonce})${more}.`));
}

/** @param {string[]} now */
function showProblems(now) {
  const over = problems.length > 0 && !now.length;
  problems = now;
  drawBanners();
  if (over) again();
}

/** Redraws only on a change: a screen reader reads each new banner aloud. */
function drawBanners() {
  const switches = (app.state?.gateways ?? []).map(({ id, killSwitch }) => killSwitch && [id, killSwitch]);
  const weaker = (app.state?.gateways ?? []).map(({ id, weakened, weakenedMark }) => [id, weakened, weakenedMark]);
  const staleSince = socket.state === "stale" ? socket.received : 0;
  const next = JSON.stringify([switches, weaker, app.mayChange, staleSince, socket.foreign, problems]);
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
        el("p", null, el("strong", null, "Kill switch on: "), "all tool calls on ", quoted(id), " are blocked."),
        el("p", { class: "quiet" }, ...since(killSwitch)),
        switchButton(app, id, true, "banner"),
      ),
    );
}

/** Settings weaker than the accepted ones, until a user accepts or reverts them. */
function weakenings() {
  return (app.state?.gateways ?? [])
    .filter(({ weakened }) => weakened.length)
    .map((gateway) =>
      el(
        "div",
        { class: "banner weaker", role: "alert" },
        el("p", null, el("strong", null, "Weaker settings: "), quoted(gateway.id), " is running with weaker settings than those last accepted."),
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
  return count > SHOWN
    ? el("li", { class: "quiet" }, `and ${format.count(count - SHOWN)} more; toolguard status lists them all`)
    : null;
}

/** The server is silent: the page shows old data. */
function stale() {
  if (socket.state !== "stale") return null;
  const text = `No response from the server since ${format.time(socket.received)}. The data below is from that time. `;
  return notice(text, retry());
}

/** Another program listens on the dashboard's port, or the dashboard has a new token. */
function foreign() {
  return notice(coded(FOREIGN), retry(), button("Enter token", () => app.unlock(), { "data-focus": "enter" }));
}

/** @param {string} problem */
function unreadable(problem) {
  return notice("The metrics cannot be read: ", quoted(problem));
}

/** @param {...(import("./dom.js").Child | import("./dom.js").Child[])} content */
const notice = (...content) => el("p", { class: "notice bad stale-note", role: "alert" }, ...content);
const retry = () => button("Try now", reconnect, { "data-focus": "reconnect" });

/** @param {import("./shapes.js").Switch | null} thrown */
function since(thrown) {
  if (!thrown) return [];
  const at = thrown.at ? `Since ${format.moment(thrown.at)}` : "Since an unknown time";
  return [at, thrown.by && [" by ", quoted(thrown.by)], thrown.why && [": ", quoted(thrown.why)]].flat();
}

/** @param {import("./socket.js").Connection} state */
function onConnection(state) {
  const texts = { live: "Connected", reconnecting: "Reconnecting", stale: `Stale since ${format.time(socket.received)}` };
  byId("connection").dataset["state"] = state;
  fill(byId("connection-text"), texts[state]);
  document.documentElement.classList.toggle("stale", state === "stale");
  drawBanners();
}

function onRefused() {
  if (token()) {
    dropToken();
    say(`The token is no longer valid. ${REOPEN}`, "bad");
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

/** Updates what changes with time alone: relative times, and data that leaves the range. */
function beat() {
  if (document.hidden) return;
  const now = app.now;
  const old = Date.now() - asked >= IDLE || Math.floor(now / HOUR) !== askedHour;
  const chooses = document.activeElement instanceof HTMLSelectElement; // a redraw would close an open list
  if (old && socket.state === "live" && !chooses) reload();
  for (const one of places.get(open)?.panel.querySelectorAll("time[data-at]") ?? []) {
    const text = format.relative(Number(one.getAttribute("data-at")), now);
    if (one.textContent !== text) one.textContent = text;
  }
  made.get(open)?.event?.({ type: "beat" });
}
