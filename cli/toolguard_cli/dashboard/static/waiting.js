// A card for one held call: the call, the reason, the time left, and the buttons to decide.

import { ask } from "./dialogs.js";
import { badge, bar } from "./parts.js";
import { el, fill, quoted, set, visible } from "./dom.js";
import * as format from "./format.js";
import { heldCall } from "./heldview.js";
import { at } from "./kinds.js";
import { steady } from "./steady.js";
import { twice } from "./twice.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./shapes.js").HeldCallView} HeldCallView */

const URGENT = 30_000; // ms
const MOVED = "This button has just appeared or moved, so nothing was done. Check the call, then press again.";
const AGAIN = matchMedia("(hover: none)").matches
  ? "Press again within 10 s to approve."
  : "Press again within 10 s to approve; Escape cancels.";
const NOT_RUN = "It has not run yet: the agent is notified and repeats the call on its own.";
/** @type {Record<string, string>} */
const PERIODS = { "1h": "an hour", "1d": "a day", "1w": "a week" };
const SESSION = "session";
/** @type {Record<string, string>} */
const ENDS = { approve: "Approved", deny: "Denied", expire: "Expired", lapsed: "Approval lapsed", consume: "Approved" };

/** @param {App} app @param {HeldCallView} first */
export function waitingCard(app, first) {
  let held = first;
  let over = "";
  let sure = false; // it is over, not just missing from the list
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
  const always = el(
    "button",
    { type: "button", "data-focus": `always ${nonce}`, on: { click: press("allow") } },
    "Allow temporarily…",
  );
  const asking = twice(yes, "Approve", "Confirm: approve once", (asks) => {
    fill(moved, asks ? AGAIN : null);
    allow();
  });
  const check = el("label", { class: "check" }, seen, el("span", null, "I have seen the whole call elsewhere"));
  const choices = el(
    "div",
    { class: "choices" },
    first.whole ? null : check,
    el("label", { class: "field" }, el("span", null, "Reason (optional)"), reason),
    el("div", { class: "actions" }, yes, no, first.allows || first.alike ? always : null),
    first.whyOnce && el("p", { class: "quiet once" }, "Cannot be allowed for longer: ", quoted(first.whyOnce), "."),
    moved,
  );
  const heading = el("h3", { id: `held-${nonce}` }, el("b", null, quoted(first.tool)), " ", el("code", null, nonce));
  const root = el(
    "article",
    { class: "card held", "data-nonce": nonce, "aria-labelledby": `held-${nonce}`, tabindex: -1 },
    el("header", { class: "row" }, heading, el("span", { class: "clock" }, left, rest)),
    heldCall(first.view, nonce),
    first.whole
      ? null
      : el(
          "p",
          { class: "notice" },
          badge("incomplete", "amber"),
          " Parts of this call cannot be shown here. Check the whole call in the agent's session before you approve it.",
        ),
    el(
      "dl",
      { class: "facts" },
      fact("Agent", first.agent),
      fact("Session", first.session),
      fact("Gateway", gateway),
      fact("Folder", first.cwd, "the agent's workspace"),
    ),
    state,
    choices,
  );

  const allow = () => {
    const focused = document.activeElement; // some browsers blur a button as soon as it is disabled
    const ask = held.status === "pending";
    const open = !over && !busy && !unread && held.expires > app.now && app.mayChange;
    choices.hidden = Boolean(over) || !["pending", "approved"].includes(held.status);
    yes.hidden = check.hidden = !ask;
    yes.disabled = !open || !(held.whole || seen.checked);
    no.disabled = !open;
    always.hidden = !ask;
    always.disabled = yes.disabled;
    const label = ask ? "Deny" : "Withdraw approval";
    if (no.textContent !== label) fill(no, label);
    reason.disabled = seen.disabled = !app.mayChange;
    if (yes.hidden || yes.disabled) asking.reset();
    set(yes, "aria-disabled", still && !asking.early() ? null : "true");
    for (const one of [no, always]) set(one, "aria-disabled", still ? null : "true");
    keepFocus(focused);
  };
  /** A button that can no longer be pressed passes the focus to the card. @param {Element | null} focused */
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
    const more = `${urgent ? "Expires soon: " : ""}${format.left(remains)} left${pending ? "" : " for it to run"}`;
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
  /** @param {string} text @param {boolean} known if not, it may come back */
  const end = (text, known) => {
    over = text;
    sure = known;
    unread = false;
    report(text);
    draw();
  };
  /** @param {string} text */
  const report = (text) => fill(state, visible(text));
  /** Shows a decision made elsewhere; the server's own answer is more specific. @param {string} text */
  const reportElsewhere = (text) => report(answer || text);
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
    else if (done) report((answer = `${done.text}. ${NOT_RUN}`));
    allow();
    void app.loadPending().catch(() => undefined);
  };
  /** Approves the call and allows the same or similar ones for a while, once the user has read what that covers. */
  const allowAlways = async () => {
    const offered = { ...(held.alike ? { [SESSION]: "the rest of this session" } : {}), ...(held.allows ? PERIODS : {}) };
    const covers = el("p");
    const period = el("select", null, Object.entries(offered).map(([value, text]) => el("option", { value }, text)));
    const tell = () => {
      const [which, scope] = period.value === SESSION ? ["next ones like it are", held.alike] : ["same call is", held.allows];
      fill(covers, `This call runs once now, and the ${which} allowed without asking: `, quoted(scope), ".");
    };
    period.addEventListener("change", tell);
    tell();
    const body = [
      covers,
      el("label", { class: "choice" }, el("span", null, "For"), period),
      el("p", { class: "quiet" }, "It is listed by ", el("code", null, "toolguard grants"), " and can be revoked there."),
    ];
    const sure = await ask({ title: "Allow such calls for a while?", body, action: "Approve and allow" });
    if (sure === null || over || held.status !== "pending") return;
    busy = true;
    allow();
    const done = await app.change("allow", { gateway, nonce, period: period.value, why: reason.value }, () => "");
    busy = false;
    if (done) report((answer = `${done.text}. ${NOT_RUN}`));
    allow();
    void app.loadPending().catch(() => undefined);
  };
  /** @param {"approve" | "deny" | "allow"} word @returns {(event: MouseEvent) => void} a key counts even while the button moves: it presses what is focused */
  function press(word) {
    return ({ detail }) => {
      if (!still && detail) fill(moved, MOVED);
      else if (word === "allow") void allowAlways();
      else if (word === "deny" || asking.press()) void decide(word);
    };
  }
  /** @param {HeldCallView} next */
  const update = (next) => {
    const back = unread || (over && !sure);
    const news = held.status !== next.status;
    held = next;
    if (back) {
      over = "";
      unread = false;
      fill(state);
    }
    if ((back || news) && !over && next.status === "approved") reportElsewhere(`Approved. ${NOT_RUN}`);
    draw();
  };
  /** @param {import("./shapes.js").DecisionRow} row */
  const decided = (row) => {
    const word =
      row.nonce === nonce && row.gateway === gateway && Object.hasOwn(ENDS, row.kind) ? ENDS[row.kind] : undefined;
    if (!word) return;
    const decision = [word, row.person && `by ${row.person}`, at(row.place)].filter(Boolean).join(" ");
    const text = `${decision}${row.kind === "consume" ? "; it has run" : ""}.`;
    if (row.kind === "approve") return reportElsewhere(`${text} ${NOT_RUN}`);
    end(text, true);
  };
  /** The call is no longer listed. @param {boolean} unreadable the held calls of its gateway cannot be read */
  const missing = (unreadable) => {
    if (over || busy || (unread && unreadable)) return;
    unread = unreadable;
    if (unreadable) {
      report("This call cannot be read at the moment; it may still be waiting.");
      return draw();
    }
    const late = held.expires <= app.now;
    if (held.status === "approved") end(late ? "Approved, but it did not run in time." : "Approved, and no longer waiting.", false);
    else end(late ? "Expired without a decision." : "Answered elsewhere; the answer is listed below.", false);
  };

  const places = steady([yes, no, ...(first.allows || first.alike ? [always] : [])], (now) => {
    still = now;
    allow();
  });
  if (first.status === "approved") report(`Approved. ${NOT_RUN}`);
  beat();
  return { root, gateway, update, beat, allow, decided, missing, checkMoved: places.check, ended: () => Boolean(over), approve: () => yes.click(), deny: () => no.click() };
}

/** @param {string} label @param {string} text @param {string} [none] */
export const fact = (label, text, none) => el("div", null, el("dt", null, label), el("dd", null, quoted(text, none)));
