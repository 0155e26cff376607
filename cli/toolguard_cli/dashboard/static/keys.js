// Keys that mean something while a list is shown, and nobody types or answers a dialog.

const TYPING = "input, textarea, select, dialog, [contenteditable]";

/**
 * @param {HTMLElement} list
 * @param {(key: string, repeats: boolean, target: Element | null) => boolean} act whether the key means something here
 */
export function onKeys(list, act) {
  document.addEventListener("keydown", (event) => {
    if (!list.offsetParent || event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
    const target = event.target instanceof Element ? event.target : null;
    if (!target?.closest(TYPING) && act(event.key, event.repeat, target)) event.preventDefault();
  });
}
