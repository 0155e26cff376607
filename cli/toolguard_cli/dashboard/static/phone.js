// What is different on a phone: held calls come first, and an installed page keeps the token.

const NARROW = "(max-width: 760px)";
const FIRST = "Approvals";

/** The tabs in the order of this screen. @param {string[]} names */
export const ordered = (names) =>
  matchMedia(NARROW).matches ? [FIRST, ...names.filter((name) => name !== FIRST)] : names;

/** Whether the page was installed as an app: it is started without its address, so the token has to be kept. */
const isInstalled = () => matchMedia("(display-mode: standalone)").matches;

/** Where the token is kept: until the tab is closed, or on the device if the user has installed the page there. */
export const tokenStore = () => (isInstalled() ? localStorage : sessionStorage);
