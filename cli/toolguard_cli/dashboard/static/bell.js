// Notifications of the browser for held calls. They are off until the user asks for them, and stay a matter of this browser.

import { say } from "./dialogs.js";
import { fill, visible } from "./dom.js";
import * as format from "./format.js";

/** @typedef {import("./shapes.js").HeldCallView} HeldCallView */

const KEPT = "toolguard.notify";
const SHOWN = 3; // notifications at once; beyond that a single one
const INSECURE =
  "This browser shows notifications only for pages served over https or from this machine (localhost, 127.0.0.1). Open the page " +
  "through an HTTPS proxy or an SSH tunnel, or use `toolguard notify`.";
const REFUSED = "This browser blocks notifications from this page. Allow them in the browser's settings for this site.";

/** Why notifications cannot be shown; empty if they can. */
const impossible = () => (!isSecureContext ? INSECURE : "Notification" in window ? "" : "This browser does not support notifications.");

/**
 * @param {HTMLElement} button
 * @returns {{ ring: (fresh: HeldCallView[]) => void }}
 */
export function bell(button) {
  const on = () => localStorage.getItem(KEPT) === "on" && !impossible() && Notification.permission === "granted";
  const draw = () => {
    const active = on();
    fill(button, active ? "Notifications on" : "Notify me");
    button.setAttribute("aria-pressed", String(active));
    button.title = active ? "Held calls are shown as browser notifications" : "Show held calls as browser notifications";
  };
  const press = async () => {
    if (on()) {
      localStorage.removeItem(KEPT);
      say("Notifications are off in this browser.");
    } else if (impossible()) {
      say(impossible(), "bad");
    } else if ((await Notification.requestPermission()) === "granted") {
      localStorage.setItem(KEPT, "on");
      say("Held calls are shown as browser notifications while this page is open.");
    } else {
      say(REFUSED, "bad");
    }
    draw();
  };
  button.addEventListener("click", () => void press());
  draw();
  return {
    /** @param {HeldCallView[]} fresh newly held calls */
    ring: (fresh) => {
      if (!on() || document.hasFocus()) return;
      if (fresh.length > SHOWN) show(`${format.count(fresh.length)} calls are waiting for approval`, "", "several");
      else for (const held of fresh) show(...described(held));
    },
  };
}

/** @param {HeldCallView} held @returns {[string, string, string]} title, text, and what is the same for all pages */
export function described({ tool, nonce, agent, gateway, view }) {
  const dangers = view.dangers.map(({ text }) => `• ${visible(text)}`);
  const who = [agent, gateway].filter(Boolean).map(visible).join(" on ");
  return [`A call is waiting: ${visible(tool)} (${nonce})`, [visible(view.why), view.title, ...dangers, who].filter(Boolean).join("\n"), `${gateway} ${nonce}`];
}

/** @param {string} title @param {string} body @param {string} tag */
function show(title, body, tag) {
  try {
    const note = new Notification(title, { body, tag, icon: "/static/icon.svg" });
    note.addEventListener("click", () => {
      note.close();
      window.focus();
      location.hash = "#approvals";
    });
  } catch {
    // some phones allow notifications only to installed apps with a worker of their own
  }
}
