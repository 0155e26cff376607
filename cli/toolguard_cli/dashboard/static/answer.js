// The page of an answer link: one held call, and one answer. The link is in the address's fragment, which is sent to no
// server; it is taken out of the address at once and kept only while the page is open.

import { ApiError, post } from "./api.js";
import { badge } from "./parts.js";
import { button, coded, el, fill, quoted, set } from "./dom.js";
import * as format from "./format.js";
import { steady } from "./steady.js";
import { twice } from "./twice.js";
import { heldCall } from "./heldview.js";
import { fact } from "./waiting.js";

/** @typedef {{ now: number, expires: number, page: string, call: import("./shapes.js").HeldCallView }} LinkedCall */

const BEAT = 1000; // ms
const CHECK = 100; // ms
const AGAIN = "Press again within 10 s to approve.";
const FOR_SESSION = "Approve for this session";
const INCOMPLETE =
  "Parts of this call cannot be shown here, so it cannot be approved here. " +
  "To approve it, check the whole call in the agent's session, then use the dashboard.";
const ENDED = "This link has expired. If the call is still waiting, answer it on the dashboard, or with `toolguard approve` or `toolguard deny`.";
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
/** Ends what the call shown before has running. */
let stop = new AbortController();

async function open() {
  const link = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  stop.abort();
  stop = new AbortController();
  if (!link) return end("This page shows a held call only when it is opened with a link.", "Open the link from the notification again.");
  try {
    show(link, await post("link", { link }, undefined, ""));
  } catch (error) {
    refused(error);
  }
}

/** @param {string} link @param {LinkedCall} linked */
function show(link, { now, expires, page, call }) {
  const skew = now - Date.now();
  const ends = Math.min(expires, call.expires);
  const left = el("span", { class: "left" });
  const note = el("p", { class: "quiet", role: "status" });
  const yes = el("button", { type: "button", class: "primary", on: { click: () => still && asking.press() && void decide("approve") } }, "Approve");
  const no = button("Deny", () => still && void decide("deny"), { class: "danger" });
  const asking = twice(yes, "Approve", "Confirm: approve once", (asks) => {
    fill(note, asks ? AGAIN : null);
    allow();
  });
  const more = el("button", { type: "button", on: { click: () => still && askingMore.press() && void decide("session") } }, FOR_SESSION);
  const askingMore = twice(more, FOR_SESSION, "Confirm: also the next ones", (asks) => {
    fill(note, asks ? AGAIN : null);
    allow();
  });
  let still = false;
  const allow = () => {
    set(yes, "aria-disabled", still && !asking.early() ? null : "true");
    set(more, "aria-disabled", still && !askingMore.early() ? null : "true");
    set(no, "aria-disabled", still ? null : "true");
  };

  /** @param {"approve" | "session" | "deny"} answer */
  const decide = async (answer) => {
    yes.disabled = more.disabled = no.disabled = true;
    try {
      const { text } = await post("link/answer", { link, page, answer }, undefined, "");
      end(`${text}.`, answer !== "deny" ? "The agent is notified and repeats the call on its own." : "", answer === "deny" ? answer : "approve");
    } catch (error) {
      refused(error);
    }
  };
  const beat = () => {
    const remains = ends - skew - Date.now();
    left.textContent = remains > 0 ? `${format.left(remains)} left` : "Time is up";
    if (remains <= 0) end(ENDED);
  };
  const offers = call.whole && call.alike !== "";
  const scope = offers && el("p", { class: "quiet" }, `${FOR_SESSION} also allows: `, quoted(call.alike), ".");
  const actions = el("div", { class: "actions" }, call.whole ? yes : null, offers ? more : null, no);
  fill(main, card(call, left, el("div", { class: "choices" }, scope, actions, note)));
  const places = steady([yes, ...(offers ? [more] : []), no], (now) => {
    still = now;
    allow();
  });
  const timers = [setInterval(beat, BEAT), setInterval(places.check, CHECK)];
  stop.signal.addEventListener("abort", () => timers.forEach(clearInterval));
  beat();
}

/** @param {import("./shapes.js").HeldCallView} call @param {HTMLElement} left @param {HTMLElement} choices */
function card(call, left, choices) {
  return el(
    "article",
    { class: "card held", "data-nonce": call.nonce, "aria-labelledby": "held" },
    el(
      "header",
      { class: "row" },
      el("h2", { id: "held" }, el("b", null, quoted(call.tool)), " is waiting for your answer ", el("code", null, call.nonce)),
      el("span", { class: "clock" }, left),
    ),
    heldCall(call.view, call.nonce),
    call.whole ? null : el("p", { class: "notice" }, badge("incomplete", "amber"), ` ${INCOMPLETE}`),
    el(
      "dl",
      { class: "facts" },
      fact("Agent", call.agent),
      fact("Session", call.session),
      fact("Gateway", call.gateway),
      fact("Folder", call.cwd, "the agent's workspace"),
    ),
    choices,
  );
}

/** @param {unknown} error */
function refused(error) {
  if (error instanceof ApiError) end(sentence(error.message), sentence(error.fix));
  else end("Something went wrong on this page.", "Open the link again.");
}

/** @param {string} text */
const sentence = (text) => (text && !/[.!?`]$/.test(text) ? `${text}.` : text);

/** Replaces the call by what became of it. @param {string} text @param {string} [more] @param {string} [tone] */
function end(text, more = "", tone = "") {
  stop.abort();
  fill(main, el("div", { class: `card outcome ${tone}`, role: "alert" }, el("p", { class: "state" }, coded(first(text))), more ? el("p", { class: "quiet" }, coded(first(more))) : null));
  main.focus({ preventScroll: true });
}

/** @param {string} text */
const first = (text) => text.charAt(0).toUpperCase() + text.slice(1);

addEventListener("hashchange", () => void open());
void open();
