// Requests to the server that this page came from, and the token that lets it change things.

const KEPT = "toolguard.token";
const FORM = /^[0-9a-f]{64}$/;
const PATIENCE = 15_000; // ms

/** Why a request failed, in words for a person. `status` is 0 where the server did not answer. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   * @param {string} fix
   */
  constructor(status, code, message, fix) {
    super(message);
    this.status = status;
    this.code = code;
    this.fix = fix;
  }
}

/** Takes `#token=...` out of the address, where it is. */
export function takeToken() {
  const found = /(?:^#|[#&])token=([^&]*)/.exec(location.hash);
  if (!found) return;
  history.replaceState(null, "", location.pathname + location.search);
  setToken(decodeURIComponent(found[1] ?? ""));
}

/** @param {string} text @returns {boolean} whether it has the form of a token */
export function setToken(text) {
  const token = text.trim().replace(/^.*#token=/, "");
  if (!FORM.test(token)) return false;
  sessionStorage.setItem(KEPT, token);
  return true;
}

export const dropToken = () => sessionStorage.removeItem(KEPT);
export const token = () => sessionStorage.getItem(KEPT) ?? "";

/**
 * @param {string} path
 * @param {Record<string, string | number | null | undefined>} [query] empty values are left out
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export function get(path, query = {}, signal) {
  const told = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const search = new URLSearchParams(told.map(([name, value]) => [name, String(value)]));
  return request(`/api/${path}${told.length ? `?${search}` : ""}`, { method: "GET" }, signal);
}

/**
 * @param {string} path
 * @param {unknown} body
 * @returns {Promise<any>}
 */
export function post(path, body) {
  const headers = { "content-type": "application/json" };
  return request(`/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

/**
 * @param {string} url
 * @param {RequestInit} init
 * @param {AbortSignal} [signal]
 */
async function request(url, init, signal) {
  const headers = { ...init.headers, ...(token() ? { authorization: `Bearer ${token()}` } : {}) };
  const limit = AbortSignal.timeout(PATIENCE);
  const signals = signal ? AbortSignal.any([signal, limit]) : limit;
  /** @type {Response} */
  let response;
  try {
    response = await fetch(url, {
      ...init,
      headers,
      signal: signals,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(
      0,
      "no-answer",
      "The dashboard's server does not answer.",
      "Start it again with `toolguard dashboard`.",
    );
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  throw refusal(response.status, answer?.error);
}

/**
 * @param {number} status
 * @param {any} error
 */
function refusal(status, error) {
  const message = typeof error?.message === "string" ? error.message : `The server answered with status ${status}.`;
  return new ApiError(status, String(error?.code ?? status), message, typeof error?.fix === "string" ? error.fix : "");
}
