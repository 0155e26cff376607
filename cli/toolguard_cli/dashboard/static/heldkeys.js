// Keys for the held calls: j and k walk through the cards, a and d answer the one that has the focus, Enter shows all of its code.

import { say } from "./dialogs.js";
import { onKeys } from "./keys.js";

/** @typedef {{ root: HTMLElement, approve: () => void, deny: () => void, ended: () => boolean }} Answerable */

const HELP = "j, k: next, previous call. a, then a again: approve. d: deny. Enter: show or hide all of the code. ?: these keys.";

/**
 * @param {HTMLElement} list where the cards are
 * @param {() => Answerable[]} cards in the order in which they stand there
 */
export function heldKeys(list, cards) {
  onKeys(list, (key, repeats, target) => act(key, repeats, target, cards()));
}

/** Whether the key means something here. @param {string} key @param {boolean} repeats @param {Element | null} target @param {Answerable[]} cards */
function act(key, repeats, target, cards) {
  const open = cards.filter((card) => !card.ended());
  const at = open.findIndex(({ root }) => target && root.contains(target));
  if (key === "?") say(HELP);
  else if (key === "j") open[Math.min(at + 1, open.length - 1)]?.root.focus();
  else if (key === "k") open[Math.max(at - 1, 0)]?.root.focus();
  else if (key === "a" && !repeats) open[at]?.approve();
  else if (key === "d" && !repeats) open[at]?.deny();
  else if (key === "Enter" && target === open[at]?.root) toggle(open[at]?.root);
  else return false;
  return true;
}

/** @param {HTMLElement | undefined} card */
function toggle(card) {
  for (const details of card?.querySelectorAll("details.whole") ?? []) details.toggleAttribute("open");
}
