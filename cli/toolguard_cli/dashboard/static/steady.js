// Whether something stands still on the screen: who presses what has just come or moved meant what was there before.

const SETTLES = 700; // ms

/**
 * `look` finds out whether the nodes moved since the last look; `tell` hears it, and again when they have stood still for a
 * while. What came just now has moved. That a person scrolls is no move, that the page does is one.
 * @param {Element[]} nodes
 * @param {(still: boolean) => void} tell
 */
export function steady(nodes, tell) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let last = place(nodes);
  const stir = () => {
    clearTimeout(timer);
    timer = setTimeout(() => tell(true), SETTLES);
    tell(false);
  };
  stir();
  return {
    look: () => {
      const now = place(nodes);
      if (now.seen !== last.seen && now.page !== last.page) stir();
      last = now;
    },
  };
}

/** `seen`: where they are on the screen; `page`: where in the page, and how long that is. @param {Element[]} nodes */
function place(nodes) {
  const boxes = nodes.map((node) => node.getBoundingClientRect());
  const { scrollX, scrollY } = window;
  /** @param {number} x @param {number} y */
  const told = (x, y) => boxes.map((box) => [box.left + x, box.top + y, box.width].map(Math.round).join(" ")).join();
  return { seen: told(0, 0), page: `${told(scrollX, scrollY)} ${document.documentElement.scrollHeight}` };
}
