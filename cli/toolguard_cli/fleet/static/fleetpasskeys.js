// One's own passkeys: which ones this page offers, and the line of each for the gateways.

import { ask, say } from "./dialogs.js";
import { button, el, fill, quoted } from "./dom.js";
import { get } from "./fleetapi.js";
import { PATIENCE, byAuthenticator, bytes, text } from "./fleetsigning.js";
import { command, empty, skeleton, when } from "./parts.js";

/** @typedef {import("./fleetapp.js").FleetApp} FleetApp */
/** @typedef {import("./fleetshapes.js").PasskeyView} PasskeyView */

const ES256 = -7;
const NAME_LENGTH = 50;

/** @param {FleetApp} app */
export function passkeysView(app) {
  const list = el("div", { class: "passkeys" }, skeleton());
  const add = button("Add a passkey", () => made(app), { class: "primary", "data-focus": "add passkey" });
  const root = el(
    "section",
    { class: "card", "aria-label": "Passkeys" },
    el("div", { class: "section-head" }, el("h2", null, "Your passkeys"), app.role === "viewer" ? null : add),
    el(
      "p",
      null,
      "With a passkey, you can approve held calls on this page. ",
      "A gateway accepts it once the gateway's administrator has added the line below to ",
      command("/etc/toolguard/allowed_signers"),
      " on the gateway's machine. The line begins with the name that the fleet's policy uses for you.",
    ),
    list,
  );
  let key = "";
  const load = async () => {
    const { passkeys } = await get("passkeys");
    app.passkeys = passkeys;
    if (JSON.stringify(passkeys) === key) return;
    key = JSON.stringify(passkeys);
    fill(list, passkeys.length ? app.passkeys.map((one) => card(app, one)) : empty("No passkey yet", "A phone, a security key or a password manager can hold one."));
  };
  return { root, load };
}

/** @param {FleetApp} app @param {PasskeyView} passkey */
function card(app, { id, host, name, created, line }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(line);
      say("Copied. Give it to an administrator of the gateways.");
    } catch {
      say("The browser does not allow copying here. Select the line and copy it yourself.", "bad");
    }
  };
  const remove = async () => {
    const sure = await ask({
      title: "Remove this passkey?",
      body: [el("p", null, "This page will no longer offer it. Gateways accept it until its line is removed there.")],
      action: "Remove",
      tone: "danger",
    });
    if (sure === null) return;
    await app.change("passkeys/remove", { id });
    app.refresh();
  };
  return el(
    "article",
    { class: "signs", "aria-label": `Passkey ${name || host}` },
    el("p", null, el("b", null, quoted(name || "unnamed")), " for ", quoted(host), ", added ", when(created, app.now)),
    command(line),
    button("Copy", copy, { class: "small", "data-focus": `copy ${id}` }),
    button("Remove", remove, { class: "small danger", "data-focus": `remove ${id}` }),
  );
}

/** @param {FleetApp} app */
async function made(app) {
  const name = await ask({
    title: "Add a passkey",
    body: [el("p", null, "Your device, phone or security key will ask you to confirm.")],
    action: "Continue",
    field: "Name (optional)",
  });
  if (name === null) return;
  const encoder = new TextEncoder();
  /** @type {PublicKeyCredentialCreationOptions} */
  const publicKey = {
    challenge: crypto.getRandomValues(new Uint8Array(32)), // nothing is proven by making a key
    rp: { id: location.hostname, name: "toolguard fleet" },
    user: {
      id: await crypto.subtle.digest("SHA-256", encoder.encode(`toolguard fleet ${app.person}`)),
      name: app.person,
      displayName: app.person,
    },
    pubKeyCredParams: [{ type: "public-key", alg: ES256 }],
    excludeCredentials: app.passkeys.map(({ id }) => ({ type: "public-key", id: bytes(id) })),
    authenticatorSelection: { userVerification: "required", residentKey: "preferred" },
    attestation: "none",
    timeout: PATIENCE,
  };
  const credential = await byAuthenticator(() => navigator.credentials.create({ publicKey }));
  if (!(credential?.response instanceof AuthenticatorAttestationResponse)) return;
  const key = credential.response.getPublicKey();
  if (!key || credential.response.getPublicKeyAlgorithm() !== ES256) return void say("This authenticator does not support ES256 keys.", "bad");
  await app.change("passkeys/add", { id: text(credential.rawId), publicKey: text(key), name: name.slice(0, NAME_LENGTH) });
  app.refresh();
}
