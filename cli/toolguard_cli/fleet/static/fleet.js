// The fleet dashboard: logging in, the views, and asking for what is new.

import { recolor } from "./charts.js";
import { button, el, fill, quoted } from "./dom.js";
import { FleetError, get, logIn, logOut } from "./fleetapi.js";
import { FleetApp } from "./fleetapp.js";
import { auditView } from "./fleetaudit.js";
import { callsView } from "./fleetcalls.js";
import { costsView } from "./fleetcosts.js";
import { gatewaysView } from "./fleetgateways.js";
import { healthView } from "./fleethealth.js";
import { passkeysView } from "./fleetpasskeys.js";
import { teamsView } from "./fleetteams.js";
import { relative } from "./format.js";
import { startTheme } from "./theme.js";

/** @typedef {{ root: HTMLElement, load: () => Promise<void>, beat?: () => void }} View */

const EVERY = 2_000; // ms between questions
const HIDDEN = 15_000; // of a tab that nobody sees
const LONGEST = 30_000; // after failures
const BEAT = 1_000;

/** @type {[string, string, (app: FleetApp) => View][]} */
const VIEWS = [
  ["calls", "Held calls", callsView],
  ["gateways", "Gateways", gatewaysView],
  ["teams", "Teams", teamsView],
  ["costs", "Costs", costsView],
  ["audit", "Audit", auditView],
  ["health", "Health", healthView],
  ["passkeys", "Passkeys", passkeysView],
];

/** @param {string} id */
const place = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const main = place("main");
const app = new FleetApp(() => ask(), showLogin);
/** @type {Map<string, View>} */
const views = new Map();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let shown = "";
let failures = 0;
let round = 0;

/** @param {string} state @param {string} text */
function connection(state, text) {
  place("connection").dataset["state"] = state;
  if (place("connection-text").textContent !== text) place("connection-text").textContent = text;
}

function showLogin() {
  clearTimeout(timer);
  round += 1;
  shown = "";
  views.clear();
  app.person = "";
  fill(place("tabs"));
  fill(place("banners"));
  fill(place("person"));
  place("logout").hidden = true;
  connection("reconnecting", "Not logged in");
  const token = el("input", { type: "password", autocomplete: "off", name: "token", spellcheck: "false" });
  const wrong = el("p", { class: "notice bad", role: "alert", hidden: true });
  const form = el(
    "form",
    null,
    el("label", { class: "field" }, el("span", null, "Your token"), token),
    wrong,
    el("button", { type: "submit", class: "primary" }, "Log in"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void enter(token.value.trim(), wrong);
  });
  const how = el("p", { class: "quiet" }, "An admin of the fleet can create one for you with ", el("code", { class: "command" }, "toolguard fleet tokens add"), ".");
  fill(main, el("section", { class: "card login", "aria-labelledby": "login" }, el("h2", { id: "login" }, "Log in"), how, form));
  token.focus();
}

/** @param {string} token @param {HTMLElement} wrong */
async function enter(token, wrong) {
  try {
    await logIn(token);
  } catch (error) {
    wrong.hidden = false;
    return fill(wrong, error instanceof Error ? error.message : String(error));
  }
  await start();
}

async function start() {
  try {
    const me = await get("me");
    app.greet(me);
    app.passkeys = (await get("passkeys")).passkeys;
    fill(place("person"), quoted(`${me.id} (${me.role})`));
    place("person").title = `${me.id}, ${me.role} of ${me.teams.join(", ")}`;
    fill(place("foot"), `toolguard ${me.version}`);
    place("logout").hidden = me.proxied;
  } catch (error) {
    if (error instanceof FleetError && error.status === 401) return showLogin();
    connection("stale", error instanceof Error ? error.message : String(error));
    timer = setTimeout(start, EVERY);
    return;
  }
  fill(place("tabs"), VIEWS.map(([name, label]) => tab(name, label)));
  show(VIEWS.some(([name]) => name === location.hash.slice(1)) ? location.hash.slice(1) : "calls");
}

/** @param {string} name @param {string} label */
function tab(name, label) {
  const made = button(label, () => show(name), { role: "tab", id: `tab-${name}`, "aria-controls": "main", "data-focus": `tab-${name}` });
  made.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = VIEWS.findIndex(([one]) => one === name);
    const next = VIEWS[(at + step + VIEWS.length) % VIEWS.length]?.[0] ?? name;
    show(next);
    place(`tab-${next}`).focus();
  });
  return made;
}

/** @param {string} name */
function show(name) {
  shown = name;
  history.replaceState(null, "", `#${name}`);
  for (const [one] of VIEWS) {
    place(`tab-${one}`).setAttribute("aria-selected", String(one === name));
    place(`tab-${one}`).tabIndex = one === name ? 0 : -1;
  }
  main.setAttribute("role", "tabpanel");
  main.setAttribute("aria-labelledby", `tab-${name}`);
  const make = VIEWS.find(([one]) => one === name)?.[2];
  const view = views.get(name) ?? make?.(app);
  if (!view) return;
  views.set(name, view);
  fill(main, view.root);
  ask();
}

/** Asks now, and then again and again. */
function ask() {
  clearTimeout(timer);
  if (!app.person) return;
  round += 1;
  void answer(round);
}

/** @param {number} mine an older round that ends later changes nothing */
async function answer(mine) {
  try {
    await Promise.all([views.get(shown)?.load(), stopped()]);
    if (mine !== round) return;
    failures = 0;
    connection("live", "Live");
    document.documentElement.classList.remove("stale");
  } catch (error) {
    if (mine !== round) return;
    if (error instanceof FleetError && error.status === 401) return showLogin();
    failures += 1;
    connection("stale", error instanceof Error ? error.message : String(error));
    document.documentElement.classList.add("stale");
  }
  const usual = document.hidden ? HIDDEN : EVERY;
  timer = setTimeout(ask, Math.min(LONGEST, usual * 2 ** Math.min(failures, 4)));
}

/** The kill switches that are on, above every view. */
async function stopped() {
  const { teams } = await get("teams");
  const on = /** @type {import("./fleetshapes.js").TeamState[]} */ (teams).filter(({ kill }) => kill);
  const key = JSON.stringify(on);
  const banners = place("banners");
  if (banners.dataset["shown"] === key) return;
  banners.dataset["shown"] = key;
  fill(
    banners,
    on.map(({ team, killBy, killWhy }) =>
      el(
        "div",
        { class: "banner", role: "alert" },
        el("b", null, team === "*" ? "The whole fleet is stopped" : `Team ${team} is stopped`),
        el("span", null, "by ", quoted(killBy), killWhy ? [": ", quoted(killWhy)] : "", ". All tool calls on its gateways are blocked."),
      ),
    ),
  );
}

setInterval(() => {
  views.get(shown)?.beat?.();
  for (const time of document.querySelectorAll("time[data-at]"))
    if (time instanceof HTMLElement) {
      const text = relative(Number(time.dataset["at"]), app.now);
      if (time.textContent !== text) time.textContent = text;
    }
}, BEAT);
document.addEventListener("visibilitychange", () => !document.hidden && app.person && ask());
place("logout").addEventListener("click", async () => {
  await logOut().catch(() => undefined);
  showLogin();
});
startTheme(place("theme"), recolor);
void start();
