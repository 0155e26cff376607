// A button that has to be pressed twice: the first press changes its label, the second one, in time, confirms.

import { fill } from "./dom.js";

const WAITS = 10_000; // ms
const APART = 700; // ms: a double click is one press

/**
 * @param {HTMLButtonElement} button
 * @param {string} first the label
 * @param {string} second the label while a second press is expected
 * @param {(asks: boolean) => void} onChange called when that begins and when it ends
 */
export function twice(button, first, second, onChange) {
  /** @type {AbortController | null} */
  let asked = null;
  let early = false;
  /** @type {ReturnType<typeof setTimeout>[]} */
  let timers = [];
  const reset = () => {
    if (!asked) return;
    asked.abort();
    asked = null;
    early = false;
    for (const timer of timers) clearTimeout(timer);
    fill(button, first);
    onChange(false);
  };
  const wait = () => {
    asked = new AbortController();
    early = true;
    timers = [setTimeout(settle, APART), setTimeout(reset, WAITS)];
    fill(button, second);
    button.focus({ preventScroll: true });
    const { signal } = asked;
    button.addEventListener("blur", reset, { signal });
    document.addEventListener("keydown", ({ key }) => key === "Escape" && reset(), { signal });
    document.addEventListener("pointerdown", ({ target }) => target !== button && reset(), { signal, capture: true });
    onChange(true);
  };
  const settle = () => {
    early = false;
    onChange(true);
  };
  button.addEventListener("keydown", (event) => event.repeat && event.preventDefault()); // a key that is held down counts as one press
  return {
    reset,
    /** Whether a press now would count as part of the first one. */
    early: () => early,
    /** Whether this press was the second one. */
    press: () => {
      if (!asked) wait();
      else if (!early) {
        reset();
        return true;
      }
      return false;
    },
  };
}
