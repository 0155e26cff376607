// Asks the fleet dashboard's server. The session's secret has two halves: a cookie that no script can read, and the key, which
// is kept here for this origin. Either alone opens nothing.

const KEPT = "toolguard.fleet.key";
const PATIENCE = 20_000; // ms

export class FleetError extends Error {
  /** @param {number} status 0: no answer @param {string} code @param {string} message @param {string} fix */
  constructor(status, code, message, fix) {
    super(message);
    this.status = status;
    this.code = code;
    this.fix = fix;
  }
}

/** @param {string} path @param {Record<string, string | number>} [query] @returns {Promise<any>} */
export const get = (path, query = {}) => {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return request(`/api/${path}${search ? `?${search}` : ""}`, { method: "GET" });
};

/** @param {string} path @param {unknown} body @returns {Promise<any>} */
export const post = (path, body) =>
  request(`/api/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** @param {string} token */
export async function logIn(token) {
  const { key } = await post("session", { token });
  localStorage.setItem(KEPT, String(key));
}

export async function logOut() {
  try {
    await post("session/end", {});
  } finally {
    localStorage.removeItem(KEPT);
  }
}

/** @param {string} url @param {RequestInit} init */
async function request(url, init) {
  const key = localStorage.getItem(KEPT);
  const headers = { ...init.headers, ...(key ? { "x-toolguard-key": key } : {}) };
  /** @type {Response} */
  let response;
  try {
    response = await fetch(url, {
      ...init,
      headers,
      signal: AbortSignal.timeout(PATIENCE),
      cache: "no-store",
      credentials: "same-origin",
      redirect: "error",
    });
  } catch {
    throw new FleetError(0, "no-answer", "The server does not answer.", "");
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  const { code, message, fix } = answer?.error ?? {};
  const text = typeof message === "string" ? message : `The server answered with status ${response.status}.`;
  throw new FleetError(response.status, String(code ?? response.status), text, typeof fix === "string" ? fix : "");
}
