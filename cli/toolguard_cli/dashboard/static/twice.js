// A button that is pressed twice: the first press changes what it says, the second one, within a while, is the word.

import { fill } from "./dom.js";

const WAITS = 10_000; // ms
const APART = 700; // ms: a double click is one press

/**
 * @param {HTMLButtonElement} button
 * @param {string} first what it says at first
 * @param {string} second what it says while the second press is waited for
 * @param {(asks: boolean) => void} tell hears when that begins, and when it ends
 */
export function twice(button, first, second, tell) {
  /** @type {AbortController | null} */
  let asked = null;
  let early = false;
  /** @type {ReturnType<typeof setTimeout>[]} */
  let timers = [];
  const calm = () => {
    if (!asked) return;
    asked.abort();
    asked = null;
    early = false;
    for (const timer of timers) clearTimeout(timer);
    fill(button, first);
    tell(false);
  };
  const wait = () => {
    asked = new AbortController();
    early = true;
    timers = [setTimeout(settle, APART), setTimeout(calm, WAITS)];
    fill(button, second);
    button.focus({ preventScroll: true });
    const { signal } = asked;
    button.addEventListener("blur", calm, { signal });
    document.addEventListener("keydown", ({ key }) => key === "Escape" && calm(), { signal });
    document.addEventListener("pointerdown", ({ target }) => target !== button && calm(), { signal, capture: true });
    tell(true);
  };
  const settle = () => {
    early = false;
    tell(true);
  };
  button.addEventListener("keydown", (event) => event.repeat && event.preventDefault()); // a key held down is one press
  return {
    calm,
    /** Whether a press now would be taken for a part of the first one. */
    early: () => early,
    /** Whether this press was the second one. */
    press: () => {
      if (!asked) wait();
      else if (!early) {
        calm();
        return true;
      }
      return false;
    },
  };
}
