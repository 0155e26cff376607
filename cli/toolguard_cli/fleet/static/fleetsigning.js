// Approves a held call with a passkey: shows what is signed, asks the authenticator, sends the signature, and finds out what the
// gateway made of it. The gateway verifies the signature itself; this page and its server prove nothing.

import { ask, say } from "./dialogs.js";
import { el, quoted } from "./dom.js";
import { get, post } from "./fleetapi.js";
import { moment } from "./format.js";
import { fact } from "./waiting.js";

/** @typedef {import("./fleetapp.js").FleetApp} FleetApp */
/** @typedef {import("./fleetshapes.js").FleetCallView} FleetCallView */
/** @typedef {import("./fleetshapes.js").SigningRequest} SigningRequest */

export const PATIENCE = 60_000; // ms for the authenticator
const EVERY = 2_000;
const TRIES = 60;
const NO_BROWSER = "Passkeys are not available here. They need HTTPS or localhost, and a host name instead of an IP address.";
/** @type {Record<string, string>} */
const FAULTS = {
  NotAllowedError: "Nothing was signed: the request was cancelled or timed out, or this device has none of your passkeys.",
  SecurityError: NO_BROWSER,
  InvalidStateError: "This authenticator already has one of your passkeys.",
  NotSupportedError: "This authenticator does not support ES256 keys.",
  ConstraintError: "This authenticator cannot ask for a PIN, a fingerprint or a face.",
};

/**
 * Whether it was approved. What is shown came with the text that is signed: the list may be older, or another answer.
 * @param {FleetApp} app @param {FleetCallView} held @param {(held: FleetCallView, signs: boolean) => HTMLElement} callText
 */
export async function sign(app, held, callText) {
  const { gateway, nonce } = held;
  try {
    /** @type {SigningRequest} */
    const request = await post("approve/begin", { gateway, nonce });
    const signed = { ...held, ...request.call };
    if ((await ask(question(signed, request, callText(signed, true)))) === null) return false;
    const answer = await assertion(request);
    return answer ? await app.change("approve", { gateway, nonce, body: request.body, ...answer }) : false;
  } catch (error) {
    app.refused(error);
    return false;
  }
}

/** All that is signed, in words. @param {FleetCallView} held @param {SigningRequest} request @param {HTMLElement} call */
const question = (held, { need, until, digest }, call) => ({
  title: `Approve ${held.nonce} once?`,
  body: [
    call,
    el(
      "dl",
      { class: "facts" },
      fact("Tool", held.tool),
      fact("Gateway", `${held.gateway}${held.host ? ` on ${held.host}` : ""}`),
      fact("Team", held.team),
      fact("Agent", held.agent),
      fact("Session", held.session),
      held.requester ? fact("Requested by", held.requester) : null,
      fact("Folder", held.cwd, "the agent's workspace"),
      fact("Needs approval by", need > 1 ? `${need} people` : "one person"),
      fact("Signature expires", moment(until)),
      fact("Digest of the call", digest),
    ),
  ],
  action: "Sign with a passkey",
});

/** What the authenticator signed; null if it did not. @param {SigningRequest} request */
async function assertion({ challenge, host, passkeys }) {
  /** @type {PublicKeyCredentialRequestOptions} */
  const publicKey = {
    challenge: bytes(challenge),
    rpId: host,
    allowCredentials: passkeys.map((id) => ({ type: "public-key", id: bytes(id) })),
    userVerification: "required",
    timeout: PATIENCE,
  };
  const made = await byAuthenticator(() => navigator.credentials.get({ publicKey }));
  if (!(made?.response instanceof AuthenticatorAssertionResponse)) return null;
  const { authenticatorData, clientDataJSON, signature } = made.response;
  return { id: text(made.rawId), authenticatorData: text(authenticatorData), clientData: text(clientDataJSON), signature: text(signature) };
}

/**
 * Says in words why nothing came of it.
 * @param {() => Promise<Credential | null>} work
 */
export async function byAuthenticator(work) {
  if (!("PublicKeyCredential" in window)) return void say(NO_BROWSER, "bad");
  try {
    const made = await work();
    if (made instanceof PublicKeyCredential) return made;
  } catch (error) {
    const name = error instanceof DOMException ? error.name : "";
    say(FAULTS[name] ?? `The authenticator failed: ${error}`, "bad");
  }
  return null;
}

/**
 * What the gateway's audit log says about the approval, in words; empty if it says nothing in time.
 * @param {FleetApp} app @param {FleetCallView} held @param {number} since
 */
export async function outcome(app, { gateway, nonce }, since) {
  for (let tries = 0; tries < TRIES && app.person; tries += 1) {
    const { lines } = await get("audit", { gateway, nonce, hours: 1 }).catch(() => ({ lines: [] }));
    const found = /** @type {{ stored: number, line: string }[]} */ (lines).filter(({ stored }) => stored >= since).map(({ line }) => read(line));
    const refused = found.find(({ event }) => event === "forged");
    if (refused) return `The gateway rejected the approval: ${refused.why}. Is your passkey's line in its allowed_signers?`;
    if (found.some(({ event }) => event === "consume")) return "The gateway has verified the signature and let the call run.";
    await new Promise((resolve) => setTimeout(resolve, EVERY));
  }
  return "";
}

/** @param {string} line */
function read(line) {
  try {
    const { event, why } = JSON.parse(line);
    return { event: String(event), why: String(why ?? "") };
  } catch {
    return { event: "", why: "" };
  }
}

/** Of base64url. @param {string} encoded */
export const bytes = (encoded) => Uint8Array.from(atob(encoded.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));

/** As base64url. @param {ArrayBuffer} data */
export const text = (data) =>
  btoa(String.fromCharCode(...new Uint8Array(data)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
