// Whether elements stand still on the screen. A press on something that has just appeared or moved was meant for what was
// there before.

const SETTLES = 700; // ms

/**
 * `check` reports to `onChange` whether the nodes moved since the last check; `onChange` is called again once they have stood
 * still for `SETTLES`. New nodes count as moved. Scrolling by the user does not count as a move, a shift of the page does.
 * @param {Element[]} nodes
 * @param {(still: boolean) => void} onChange
 */
export function steady(nodes, onChange) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let last = place(nodes);
  const moved = () => {
    clearTimeout(timer);
    timer = setTimeout(() => onChange(true), SETTLES);
    onChange(false);
  };
  moved();
  return {
    check: () => {
      const now = place(nodes);
      if (now.screen !== last.screen && now.page !== last.page) moved();
      last = now;
    },
  };
}

/** `screen`: positions on the screen; `page`: positions in the page, and its length. @param {Element[]} nodes */
function place(nodes) {
  const boxes = nodes.map((node) => node.getBoundingClientRect());
  const { scrollX, scrollY } = window;
  /** @param {number} x @param {number} y */
  const offset = (x, y) => boxes.map((box) => [box.left + x, box.top + y, box.width].map(Math.round).join(" ")).join();
  return { screen: offset(0, 0), page: `${offset(scrollX, scrollY)} ${document.documentElement.scrollHeight}` };
}
