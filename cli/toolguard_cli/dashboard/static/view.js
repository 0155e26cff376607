// A part of the page with data from the server. Its states: loading, loaded, failed, stale.

import { ApiError, token } from "./api.js";
import { button, coded, el, fill } from "./dom.js";
import { skeleton } from "./parts.js";

/** @typedef {import("./app.js").App} App */

/** @template Data */
export class View {
  #app;
  #load;
  #draw;
  #drawn = false;
  /** @type {AbortController | null} */ #running = null;
  #notice = el("div", { class: "notice-place" });
  #waiting = el("div", { role: "status" }, el("span", { class: "sr-only" }, "Loading"), skeleton());
  #content;

  /**
   * @param {App} app
   * @param {HTMLElement} content filled by `draw`
   * @param {(signal: AbortSignal) => Promise<Data>} load
   * @param {(data: Data) => void} draw
   */
  constructor(app, content, load, draw) {
    this.#app = app;
    this.#content = content;
    this.#load = load;
    this.#draw = draw;
    content.hidden = true;
    this.root = el("div", { class: "view" }, this.#notice, this.#waiting, content);
  }

  /** Loads again; a request under way is aborted. */
  async refresh() {
    this.#running?.abort();
    const mine = new AbortController();
    this.#running = mine;
    this.root.setAttribute("aria-busy", "true");
    try {
      const data = await this.#load(mine.signal);
      if (this.#running === mine) this.#show(data);
    } catch (error) {
      if (this.#running === mine) this.#fail(error);
    } finally {
      if (this.#running === mine) this.root.removeAttribute("aria-busy");
    }
  }

  /** @param {Data} data */
  #show(data) {
    fill(this.#notice);
    this.#waiting.hidden = true;
    this.#content.hidden = false;
    this.#drawn = true;
    this.#draw(data);
  }

  /** @param {unknown} error */
  #fail(error) {
    this.#waiting.hidden = true;
    fill(
      this.#notice,
      problem(this.#app, error, this.#drawn, () => void this.refresh()),
    );
  }
}

/**
 * An error and how to fix it.
 * @param {App} app
 * @param {unknown} error
 * @param {boolean} old whether older data is still shown
 * @param {() => void} retry
 */
function problem(app, error, old, retry) {
  const known = error instanceof ApiError ? error : new ApiError(0, "bug", `Something went wrong on this page: ${String(error)}`, "");
  const unlock = known.status === 401;
  return el(
    "div",
    { class: "notice bad", role: "alert" },
    el("strong", null, unlock && !token() ? "This dashboard needs its token." : coded(known.message)),
    known.fix && el("p", null, coded(known.fix)),
    old && el("p", null, "The data below is out of date."),
    el(
      "p",
      { class: "actions" },
      button("Try again", retry, { "data-focus": "retry" }),
      unlock && button("Enter token", () => app.unlock()),
    ),
  );
}
