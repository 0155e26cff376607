// One held call as the engine's `held_view` has it: its dangers, the worst first, and its code. It only lays that out.

import { badge } from "./parts.js";
import { el, quoted, visible } from "./dom.js";

/** @typedef {import("./shapes.js").HeldView} HeldView */
/** @typedef {import("./shapes.js").CodeBlock} CodeBlock */

/**
 * What the guard has not read is unfolded: nobody agrees to it unseen. `signs`: all is, because a signature covers all of it.
 * @param {HeldView} view @param {string} nonce @param {boolean} [signs]
 */
export const heldCall = (view, nonce, signs = false) =>
  el(
    "div",
    { class: "view" },
    view.changes.map((line) => el("p", { class: "notice" }, badge("new", "amber"), " ", quoted(line))),
    view.why ? el("p", { class: "reason" }, quoted(view.why)) : null,
    el("p", { class: "dangers" }, view.title),
    el(
      "ol",
      { class: "dangers", "aria-label": view.title },
      view.dangers.map(({ text, now, why }) =>
        el(
          "li",
          null,
          quoted(text),
          now ? el("span", { class: "there" }, "Now there: ", quoted(now)) : null,
          why.map((line) => el("span", { class: "quiet" }, quoted(line))),
        ),
      ),
    ),
    view.also.length ? el("p", { class: "quiet" }, "It also ", quoted(view.also.join("; "))) : null,
    view.notes.map((note) => el("p", { class: "notice" }, badge("incomplete", "amber"), " ", quoted(note))),
    view.fields.map((field) => el("p", { class: "field" }, el("code", null, quoted(field)))),
    view.blocks.map((block) => code(block, nonce, signs || !view.enough)),
  );

/** @param {CodeBlock} block @param {string} nonce @param {boolean} open */
function code({ name, rows, hidden, whole }, nonce, open) {
  const lines = rows.length + hidden;
  const label = lines > 1 ? `${name || "call"} (${lines} lines)` : name || "call";
  return el(
    "div",
    { class: "code" },
    el("p", { class: "quiet" }, quoted(label)),
    el(
      "pre",
      { class: "call", dir: "ltr", tabindex: "0", role: "region", "aria-label": `The ${name || "call"} of ${nonce}` },
      rows.map(({ number, text, danger }) =>
        el(
          "span",
          { class: danger ? "line danger" : "line", "data-number": lines > 1 ? String(number) : null },
          el("bdi", null, visible(text)),
          "\n",
        ),
      ),
    ),
    rows.map(({ text }) => text).join("\n") === whole ? null : rest(whole, hidden, nonce, open),
  );
}

/** @param {string} whole @param {number} hidden @param {string} nonce @param {boolean} open */
const rest = (whole, hidden, nonce, open) =>
  el(
    "details",
    { class: "whole", open },
    el("summary", null, hidden ? `${hidden} more line${hidden === 1 ? "" : "s"}` : "Show the whole line"),
    el("pre", { class: "call whole", dir: "ltr", tabindex: "0", role: "region", "aria-label": `All of the call ${nonce}` }, el("bdi", null, visible(whole))),
  );
