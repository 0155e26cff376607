// Dialogs and toasts.

import { button, coded, el } from "./dom.js";

const STAYS = 8000; // ms
const MOST = 3;

/**
 * Asks in a dialog. Resolves to the text that was typed (empty if there is no field), null if the dialog was cancelled.
 * @param {{ title: string, body: import("./dom.js").Child[], action: string, tone?: string, field?: string, secret?: boolean }} question
 * @returns {Promise<string | null>}
 */
export function ask({ title, body, action, tone = "primary", field, secret = false }) {
  const from = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  return new Promise((resolve) => {
    const props = secret ? { type: "password", autocomplete: "off" } : { type: "text", maxlength: 500, autocomplete: "off" };
    const input = el("input", { ...props, spellcheck: "false" });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault(); // or it presses the element that is focused next
      done(input.value);
    });
    const heading = el("h2", { id: "question" }, title);
    const dialog = el("dialog", { "aria-labelledby": "question" });
    dialog.addEventListener("close", () => {
      dialog.remove();
      back(from);
      resolve(answer);
    });
    dialog.append(
      heading,
      el("div", { class: "question" }, body),
      ...(field ? [el("label", { class: "field" }, el("span", null, field), input)] : []),
      el(
        "div",
        { class: "actions" },
        button("Cancel", () => dialog.close()),
        button(action, () => done(field ? input.value : ""), { class: tone }),
      ),
    );
    /** @type {string | null} */
    let answer = null;
    /** @param {string} text */
    const done = (text) => {
      answer = text;
      dialog.close();
    };
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Returns the focus to this element, or to the one that replaced it. @param {HTMLElement | null} from */
function back(from) {
  const key = from?.dataset["focus"];
  const same = from?.isConnected
    ? from
    : [...document.querySelectorAll("[data-focus]")].find((one) => one.getAttribute("data-focus") === key);
  if (same instanceof HTMLElement) same.focus();
}

/**
 * Shows a toast, which screen readers read as well.
 * @param {string} text
 * @param {"good" | "bad"} [tone]
 */
export function say(text, tone = "good") {
  const note = el("p", { class: `toast ${tone}` }, coded(text));
  put(note);
  setTimeout(() => note.remove(), STAYS);
}

/** Shows a toast that stays until it is dismissed. @param {string} text */
export function warn(text) {
  const note = el("p", { class: "toast bad kept" }, coded(text));
  note.append(button("Dismiss", () => note.remove(), { class: "small" }));
  put(note);
}

/** @param {HTMLElement} note */
function put(note) {
  const place = document.getElementById("toasts");
  if (!place) return;
  const passing = [...place.children].filter((one) => !one.classList.contains("kept"));
  for (const one of passing.slice(0, Math.max(0, passing.length + 1 - MOST))) one.remove();
  place.append(note);
}
