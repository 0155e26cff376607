// One call that waits: what it is, why it waits, how long still, yes or no.

import { badge, bar } from "./parts.js";
import { el, fill, quoted, visible } from "./dom.js";
import * as format from "./format.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./shapes.js").Held} Held */

const URGENT = 30_000; // ms
const STAYS = 6000; // ms that the end of it can be read
const NOT_RUN = "It has not run yet: the agent has to call it again.";
/** @type {Record<string, string>} */
const ENDS = { approve: "Approved", deny: "Denied", expire: "Expired", consume: "Approved; it has run" };

/** @param {App} app @param {Held} first */
export function waitingCard(app, first) {
  let held = first;
  let over = "";
  let busy = false;
  let answer = "";
  const { nonce, gateway } = first;
  const left = el("span", { class: "left" });
  const rest = el("span", { class: "countdown", "aria-hidden": "true" });
  const state = el("p", { class: "state", role: "status" });
  const reason = el("input", { type: "text", maxlength: 500, autocomplete: "off" });
  const seen = el("input", { type: "checkbox", on: { change: () => allow() } });
  const yes = el(
    "button",
    { type: "button", class: "primary", "data-focus": `yes ${nonce}`, on: { click: () => decide("approve") } },
    "Approve",
  );
  const no = el(
    "button",
    { type: "button", class: "danger", "data-focus": `no ${nonce}`, on: { click: () => decide("deny") } },
    "Deny",
  );
  const choices = el(
    "div",
    { class: "choices" },
    first.whole ? null : el("label", { class: "check" }, seen, el("span", null, "I have seen the whole of it elsewhere")),
    el("label", { class: "field" }, el("span", null, "Reason (optional)"), reason),
    el("div", { class: "actions" }, yes, no),
  );
  const heading = el("h3", { id: `held-${nonce}` }, el("b", null, quoted(first.tool)), " ", el("code", null, nonce));
  const root = el(
    "article",
    { class: "card held", "data-nonce": nonce, "aria-labelledby": `held-${nonce}` },
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
    const open = held.status === "pending" && !over && !busy && held.expires > app.now;
    choices.hidden = held.status !== "pending" || Boolean(over);
    yes.disabled = !open || !app.mayChange || !(held.whole || seen.checked);
    no.disabled = !open || !app.mayChange;
    reason.disabled = seen.disabled = !app.mayChange;
  };
  const beat = () => {
    const remains = held.expires - app.now;
    const ended = over || held.status !== "pending";
    const urgent = !ended && remains < URGENT;
    root.classList.toggle("urgent", urgent);
    if (!ended && remains <= 0) allow();
    const text = ended ? "" : remains > 0 ? `${urgent ? "Hurry: " : ""}${format.left(remains)} left` : "Time is up";
    if (left.textContent !== text) left.textContent = text;
    fill(
      rest,
      ended
        ? null
        : bar(Math.max(0, Math.min(1, remains / Math.max(1, held.expires - held.created))), urgent ? "red" : "accent"),
    );
  };
  /** @param {string} text */
  const end = (text) => {
    if (over) return;
    over = text;
    tell(text);
    root.classList.add("over");
    allow();
    beat();
  };
  /** @param {string} text */
  const tell = (text) => fill(state, visible(text));
  /** What is said elsewhere; what the server answered here says more. @param {string} text */
  const hear = (text) => answer || tell(text);
  /** @param {"approve" | "deny"} word */
  const decide = async (word) => {
    busy = true;
    allow();
    const body = {
      gateway,
      nonce,
      why: reason.value,
      ...(word === "approve" && !held.whole ? { unseen: seen.checked } : {}),
    };
    const done = await app.change(word, body, ({ text }) => String(text));
    busy = false;
    if (done && word === "deny") end(String(done.text));
    else if (done) tell((answer = String(done.text)));
    allow();
    void app.loadPending().catch(() => undefined);
  };
  /** @param {Held} next */
  const update = (next) => {
    const before = held.status;
    held = next;
    if (before !== next.status && next.status === "approved") hear(`Approved. ${NOT_RUN}`);
    allow();
    beat();
  };
  /** @param {import("./shapes.js").DecisionRow} row */
  const decided = (row) => {
    const word =
      row.nonce === nonce && row.gateway === gateway && Object.hasOwn(ENDS, row.kind) ? ENDS[row.kind] : undefined;
    if (!word) return;
    const text = `${[word, row.person && `by ${row.person}`, row.place && `at ${row.place}`].filter(Boolean).join(" ")}.`;
    if (row.kind === "approve") return hear(`${text} ${NOT_RUN}`);
    end(text);
    tell(text);
  };
  let leaving = false;
  /** It waits no longer. @param {() => void} gone */
  const leave = (gone) => {
    if (leaving) return;
    leaving = true;
    end(
      held.status === "approved"
        ? "Approved, and no longer waiting."
        : held.expires <= app.now
          ? "Expired: nobody decided in time."
          : "Decided elsewhere.",
    );
    setTimeout(gone, STAYS);
  };

  if (first.status === "approved") tell(`Approved. ${NOT_RUN}`);
  allow();
  beat();
  return { root, update, beat, allow, decided, leave };
}

/** @param {string} label @param {string} text @param {string} [none] */
const fact = (label, text, none) => el("div", null, el("dt", null, label), el("dd", null, quoted(text, none)));
