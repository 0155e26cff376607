// Requests to the dashboard's API, and the token that permits changes.

import { tokenStore } from "./phone.js";
import { prove } from "./proof.js";

const KEPT = "toolguard.token";
const FORM = /^[0-9a-f]{64}$/;
const PATIENCE = 15_000; // ms
const NEAR = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;
/** On another device `--open` would open a browser on the gateway's machine. */
export const IS_NEAR = NEAR.test(location.hostname);
export const REOPEN = IS_NEAR
  ? "Run `toolguard dashboard --open` to open the current page."
  : "On the gateway's machine, run `toolguard dashboard`, and open the address that it prints.";
/** Whether reads need the token too: the server can be reached from other machines. */
let closed = !IS_NEAR;

/** Why a request failed, in words for the user. `status` is 0 if the server did not answer. */
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

/** Moves `#token=...` from the address into the storage. */
export function takeToken() {
  const found = /(?:^#|[#&])token=([^&]*)/.exec(location.hash);
  if (!found) return;
  history.replaceState(null, "", location.pathname + location.search);
  setToken(found[1] ?? "");
}

/** @param {string} text @returns {boolean} whether it has the form of a token */
export function setToken(text) {
  const token = text.trim().replace(/^.*#token=/, "");
  if (!FORM.test(token)) return false;
  tokenStore().setItem(KEPT, token);
  return true;
}

export const dropToken = () => tokenStore().removeItem(KEPT);
export const token = () => tokenStore().getItem(KEPT) ?? "";

/**
 * @param {string} path
 * @param {Record<string, string | number | null | undefined>} [query] empty values are left out
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export function get(path, query = {}, signal) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return read(`/api/${path}${given.length ? `?${search}` : ""}`, path === "state", signal);
}

/**
 * @param {string} path
 * @param {unknown} body
 * @param {number} [patience] ms
 * @param {string} [given] the token
 * @returns {Promise<any>}
 */
export function post(path, body, patience, given = token()) {
  const headers = { "content-type": "application/json" };
  return request(`/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) }, given, undefined, patience);
}

/**
 * @param {string} url
 * @param {boolean} asWho the answer depends on whether the token is sent
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
async function read(url, asWho, signal) {
  const given = closed || asWho ? token() : "";
  try {
    return await request(url, { method: "GET" }, given, signal);
  } catch (error) {
    if (given || !token() || !(error instanceof ApiError) || error.status !== 401) throw error;
    closed = true;
    return request(url, { method: "GET" }, token(), signal);
  }
}

/**
 * @param {string} url
 * @param {RequestInit} init
 * @param {string} given the token; sent only after the server has proven that it knows it
 * @param {AbortSignal} [signal]
 * @param {number} [patience] ms
 */
async function request(url, init, given, signal, patience = PATIENCE) {
  if (given) await proven(given);
  const headers = { ...init.headers, ...(given ? { authorization: `Bearer ${given}` } : {}) };
  const limit = AbortSignal.timeout(patience);
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
    throw limit.aborted ? late() : gone();
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  throw refusal(response.status, answer?.error);
}

/** @param {string} given */
async function proven(given) {
  const server = await prove(given);
  if (server === "gone") throw gone();
  if (server === "foreign")
    throw new ApiError(0, "foreign", "The server does not know this page's token. Nothing was sent to it.", REOPEN);
}

const gone = () =>
  new ApiError(0, "no-answer", "The dashboard's server does not answer.", "Start it with `toolguard dashboard`.");
const late = () => new ApiError(0, "late", "The dashboard's server did not answer in time.", "");

/**
 * @param {number} status
 * @param {any} error
 */
function refusal(status, error) {
  const message = typeof error?.message === "string" ? error.message : `The server answered with status ${status}.`;
  return new ApiError(status, String(error?.code ?? status), message, typeof error?.fix === "string" ? error.fix : "");
}
