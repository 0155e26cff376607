// One call that waits: what it is, why it waits, how long still, yes or no.

import { badge, bar } from "./parts.js";
import { el, fill, quoted, set, visible } from "./dom.js";
import * as format from "./format.js";
import { at } from "./kinds.js";
import { steady } from "./steady.js";
import { twice } from "./twice.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./shapes.js").Held} Held */

const URGENT = 30_000; // ms
const MOVED = "This has just come or moved here, so nothing was done. Look again, then press once more.";
const AGAIN = "Press once more within 10 s to approve it; Escape takes this back.";
const NOT_RUN = "It has not run yet: the agent is told so, and repeats the call by itself.";
/** @type {Record<string, string>} */
const ENDS = { approve: "Approved", deny: "Denied", expire: "Expired", consume: "Approved" };

/** @param {App} app @param {Held} first */
export function waitingCard(app, first) {
  let held = first;
  let over = "";
  let sure = false; // that it is over, not only gone from the list
  let unread = false;
  let still = false;
  let busy = false;
  let answer = "";
  const { nonce, gateway } = first;
  const left = el("span", { class: "left" });
  const rest = el("span", { class: "countdown", "aria-hidden": "true" });
  const state = el("p", { class: "state", role: "status" });
  const moved = el("p", { class: "quiet", role: "status" });
  const reason = el("input", { type: "text", maxlength: 500, autocomplete: "off" });
  const seen = el("input", { type: "checkbox", on: { change: () => allow() } });
  const yes = el(
    "button",
    { type: "button", class: "primary", "data-focus": `yes ${nonce}`, on: { click: press("approve") } },
    "Approve",
  );
  const no = el(
    "button",
    { type: "button", class: "danger", "data-focus": `no ${nonce}`, on: { click: press("deny") } },
    "Deny",
  );
  const asking = twice(yes, "Approve", "Approve: runs once", (asks) => {
    fill(moved, asks ? AGAIN : null);
    allow();
  });
  const check = el("label", { class: "check" }, seen, el("span", null, "I have seen the whole of it elsewhere"));
  const choices = el(
    "div",
    { class: "choices" },
    first.whole ? null : check,
    el("label", { class: "field" }, el("span", null, "Reason (optional)"), reason),
    el("div", { class: "actions" }, yes, no),
    moved,
  );
  const heading = el("h3", { id: `held-${nonce}` }, el("b", null, quoted(first.tool)), " ", el("code", null, nonce));
  const root = el(
    "article",
    { class: "card held", "data-nonce": nonce, "aria-labelledby": `held-${nonce}`, tabindex: -1 },
    el("header", { class: "row" }, heading, el("span", { class: "clock" }, left, rest)),
    el(
      "p",
      { class: "reason" },
      quoted(first.reason, "No reason was told."),
      " ",
      first.code && el("code", null, quoted(first.code)),
    ),
    el(
      "pre",
      { class: "call", dir: "ltr", tabindex: "0", role: "region", "aria-label": `The call ${nonce}` },
      el("bdi", null, visible(first.shown)),
    ),
    first.whole
      ? null
      : el(
          "p",
          { class: "notice" },
          badge("not shown whole", "amber"),
          " Parts of this call cannot be shown here. Look at it where it was made before you say yes.",
        ),
    el(
      "dl",
      { class: "facts" },
      fact("Agent", first.agent),
      fact("Session", first.session),
      fact("Gateway", gateway),
      fact("Folder", first.cwd, "the agent's own"),
    ),
    state,
    choices,
  );

  const allow = () => {
    const focused = document.activeElement; // some browsers take the focus from a button as soon as it is disabled
    const ask = held.status === "pending";
    const open = !over && !busy && !unread && held.expires > app.now && app.mayChange;
    choices.hidden = Boolean(over) || !["pending", "approved"].includes(held.status);
    yes.hidden = check.hidden = !ask;
    yes.disabled = !open || !(held.whole || seen.checked);
    no.disabled = !open;
    const label = ask ? "Deny" : "Take back";
    if (no.textContent !== label) fill(no, label);
    reason.disabled = seen.disabled = !app.mayChange;
    if (yes.hidden || yes.disabled) asking.calm();
    set(yes, "aria-disabled", still && !asking.early() ? null : "true");
    set(no, "aria-disabled", still ? null : "true");
    keepFocus(focused);
  };
  /** What can be pressed no more leaves the focus to the card. @param {Element | null} focused what had it before */
  const keepFocus = (focused) => {
    if (!(focused instanceof HTMLElement) || !choices.contains(focused)) return;
    if (focused.matches(":disabled") || !focused.offsetParent) root.focus({ preventScroll: true });
  };
  const beat = () => {
    const remains = held.expires - app.now;
    const pending = held.status === "pending";
    const urgent = !over && pending && remains < URGENT;
    root.classList.toggle("urgent", urgent);
    if (!over && remains <= 0) allow();
    const more = `${urgent ? "Hurry: " : ""}${format.left(remains)} left${pending ? "" : " to run"}`;
    const text = over ? "" : remains > 0 ? more : "Time is up";
    if (left.textContent !== text) left.textContent = text;
    fill(
      rest,
      over || !pending
        ? null
        : bar(Math.max(0, Math.min(1, remains / Math.max(1, held.expires - held.created))), urgent ? "red" : "accent"),
    );
  };
  const draw = () => {
    root.classList.toggle("over", Boolean(over));
    allow();
    beat();
  };
  /** @param {string} text @param {boolean} known else it may come back */
  const end = (text, known) => {
    over = text;
    sure = known;
    unread = false;
    tell(text);
    draw();
  };
  /** @param {string} text */
  const tell = (text) => fill(state, visible(text));
  /** What is said elsewhere; what the server answered here says more. @param {string} text */
  const hear = (text) => tell(answer || text);
  /** @param {"approve" | "deny"} word */
  const decide = async (word) => {
    busy = true;
    fill(moved);
    allow();
    const body = {
      gateway,
      nonce,
      why: reason.value,
      ...(word === "approve" && !held.whole ? { unseen: seen.checked } : {}),
    };
    const done = await app.change(word, body, () => "");
    busy = false;
    if (done && word === "deny") end(String(done.text), true);
    else if (done) tell((answer = `${done.text}. ${NOT_RUN}`));
    allow();
    void app.loadPending().catch(() => undefined);
  };
  /** @param {"approve" | "deny"} word @returns {(event: MouseEvent) => void} a key presses what has the focus, wherever it is */
  function press(word) {
    return ({ detail }) => {
      if (!still && detail) fill(moved, MOVED);
      else if (word === "deny" || asking.press()) void decide(word);
    };
  }
  /** @param {Held} next */
  const update = (next) => {
    const back = unread || (over && !sure);
    const news = held.status !== next.status;
    held = next;
    if (back) {
      over = "";
      unread = false;
      fill(state);
    }
    if ((back || news) && !over && next.status === "approved") hear(`Approved. ${NOT_RUN}`);
    draw();
  };
  /** @param {import("./shapes.js").DecisionRow} row */
  const decided = (row) => {
    const word =
      row.nonce === nonce && row.gateway === gateway && Object.hasOwn(ENDS, row.kind) ? ENDS[row.kind] : undefined;
    if (!word) return;
    const told = [word, row.person && `by ${row.person}`, at(row.place)].filter(Boolean).join(" ");
    const text = `${told}${row.kind === "consume" ? "; it has run" : ""}.`;
    if (row.kind === "approve") return hear(`${text} ${NOT_RUN}`);
    end(text, true);
  };
  /** It is not among those that wait. @param {boolean} unreadable nor can those of its gateway be read */
  const missing = (unreadable) => {
    if (over || busy || (unread && unreadable)) return;
    unread = unreadable;
    if (unreadable) {
      tell("It cannot be read at present, so it is not known whether it still waits.");
      return draw();
    }
    const late = held.expires <= app.now;
    if (held.status === "approved") end(late ? "Approved, but it was not run in time." : "Approved, and no longer waiting.", false);
    else end(late ? "Expired: nobody decided in time." : "Decided elsewhere.", false);
  };

  const places = steady([yes, no], (now) => {
    still = now;
    allow();
  });
  if (first.status === "approved") tell(`Approved. ${NOT_RUN}`);
  beat();
  return { root, gateway, update, beat, allow, decided, missing, look: places.look, ended: () => Boolean(over) };
}

/** @param {string} label @param {string} text @param {string} [none] */
const fact = (label, text, none) => el("div", null, el("dt", null, label), el("dd", null, quoted(text, none)));
