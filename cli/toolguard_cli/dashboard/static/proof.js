// Checks that the server knows this page's token, before the token is sent to it.
//
// Another program can listen on the port once the server has ended. The dashboard proves that it knows the token
// (`token.proof`) for a nonce of ours and for its own port, so that no program can relay the proof of another dashboard.

const PATIENCE = 5000; // ms
const PROOF = /^[0-9a-f]{64}$/;

/**
 * `unknown`: the browser offers no cryptography here (no TLS, and not this machine).
 * @typedef {"proven" | "foreign" | "gone" | "unknown"} Server
 */

/** Port of the server, which a tunnel may hide. The first one it named counts: it had just served this page. */
let port = 0;
let known = "";

export const cannotProve = () => globalThis.crypto?.subtle === undefined;

/** Whether a server has proven to this page that it knows this token. @param {string} token */
export const wasProven = (token) => token !== "" && token === known;

/** @param {string} token @returns {Promise<Server>} */
export async function prove(token) {
  if (cannotProve()) return "unknown";
  const nonce = [...crypto.getRandomValues(new Uint8Array(16))].map(hex).join("");
  /** @type {any} */
  let hello;
  try {
    hello = await asked(nonce);
  } catch {
    return "gone";
  }
  const named = port || Number(hello?.port ?? location.port);
  if (!PROOF.test(String(hello?.proof))) return "foreign";
  if (!(await holds(token, `toolguard dashboard ${named} ${nonce}`, hello.proof))) return "foreign";
  [port, known] = [named, token];
  return "proven";
}

/** @param {string} nonce */
async function asked(nonce) {
  const answer = await fetch(`/api/hello?nonce=${nonce}`, {
    signal: AbortSignal.timeout(PATIENCE),
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  });
  return answer.json().catch(() => null);
}

/** @param {string} token @param {string} text @param {string} proof */
async function holds(token, text, proof) {
  const bytes = (/** @type {string} */ one) => new TextEncoder().encode(one);
  const key = await crypto.subtle.importKey("raw", bytes(token), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const given = Uint8Array.from(proof.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  return crypto.subtle.verify("HMAC", key, given, bytes(text));
}

/** @param {number} byte */
const hex = (byte) => byte.toString(16).padStart(2, "0");
