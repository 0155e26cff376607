// The chat command `/toolguard approve|deny|revive|pending|checkpoint|kill-switch|accept`, answered without the model, and the
// agent's approval tool, if the settings allow it.

import { createHash } from "node:crypto";

/** @typedef {Pick<import("./engine.mjs").Engine, "ask">} Engine */
/** @typedef {Pick<import("./connections.mjs").Peers, "senders">} Peers */
/** @typedef {Pick<import("./waker.mjs").Waker, "outcome">} Waker */

const LONGEST = 1_000;
const USAGE = [
  "Usage: /toolguard pending - list the held calls",
  "/toolguard approve <nonce> [code] [--for 1h|8h|1d|7d | --session] - show the call, then let it run once; with --for also allow exactly this call for that time, with --session also the next ones like it in this session",
  "/toolguard deny <nonce> [reason] - refuse the call",
  "/toolguard revive <nonce> - ask the agent to repeat a call that expired unanswered or did not run in time; it is then held again",
  "/toolguard checkpoint - confirm that you reviewed the work: refill the budget of this chat's agent; checkpoint all - of every chat",
  "/toolguard kill-switch on|off [reason] - block every new call by every agent, or allow calls again",
  "/toolguard accept <code> - accept weaker settings (/toolguard pending shows them and the code)",
].join("\n");
const OWNER_ONLY = "Only the owner of this gateway may use this command.";
const ALONE = new Set(["pending", "accept"]);
const WITH_NONCE = new Set(["approve", "deny", "revive"]);
const SWITCHED = new Set(["on", "off"]);
const FOR_A_WHILE = /^(?:--|\u2014)for(?:=(.*))?$/iu; // phones replace two hyphens by a dash
const FOR_SESSION = /^(?:--|\u2014)session$/iu;
const SHOWS = new Set(["approve", "pending"]);
const LOOSENS = new Set(["approve", "checkpoint", "accept"]);
/** The gateway's own chat. Other channels have an identity of their own. */
const OWN_CHAT = new Set(["", "webchat"]);
const UNKNOWN = { peers: [{ opened: 0, closed: 0, kind: "unknown", why: "by a program that cannot be identified" }], carriers: [] };
const NO_ANSWER = "The guard is not answering. Run `toolguard doctor` in a terminal.";

/**
 * The gateway passes `senderIsOwner` to third-party commands only if they require a scope.
 * @param {() => Engine | undefined} engine
 * @param {() => Peers | undefined} peers
 * @param {() => Waker | undefined} [waker] if agents are woken
 */
export function chatCommand(engine, peers, waker = () => undefined) {
  return {
    name: "toolguard",
    description: "Approve or deny held tool calls, list them, refill budgets, or block every call",
    acceptsArgs: true,
    requireAuth: true,
    requiredScopes: ["operator.approvals"],
    handler: (/** @type {any} */ ctx) => answered(engine(), peers(), waker(), ctx),
  };
}

/**
 * @param {Engine | undefined} engine
 * @param {Peers | undefined} peers
 * @param {Waker | undefined} waker
 * @param {any} ctx
 */
async function answered(engine, peers, waker, ctx) {
  if (ctx?.senderIsOwner !== true) return { text: OWNER_ONLY, isError: true };
  const [action = "", nonce = "", ...why] = String(ctx.args ?? "").trim().split(/\s+/);
  if (!isComplete(action, nonce)) return { text: USAGE };
  const lasts = action === "approve" ? period(why) : "";
  if (lasts === undefined) return { text: USAGE, isError: true };
  const session = action === "checkpoint" && typeof ctx.sessionKey === "string" ? { session: ctx.sessionKey.slice(0, LONGEST) } : {};
  const by = [ctx.channel, ctx.senderId].filter(Boolean).join(":") || "owner";
  const asksWho = (loosens(action, nonce) || SHOWS.has(action)) && isOperator(ctx);
  const senders = asksWho ? await (peers?.senders() ?? UNKNOWN) : {};
  const answer = await engine?.ask({
    type: "decide", action, nonce: nonce.slice(0, LONGEST), why: why.join(" ").slice(0, LONGEST), by, where: "chat",
    ...session, ...place(ctx, action), ...senders, ...(lasts ? { lasts: lasts.slice(0, LONGEST) } : {}),
  });
  const reaches = answer?.ok === true ? await reached(answer, waker) : "";
  return { text: `${answer?.text ?? NO_ANSWER}${reaches}`, isError: answer?.ok !== true };
}

/**
 * Whether the agent learns of the approval that an answer is about.
 * @param {any} answer
 * @param {Waker | undefined} waker
 */
async function reached({ nonce, waking }, waker) {
  const told = nonce ? await waker?.outcome(nonce) : null;
  const text = told && waking?.[told.outcome];
  return text ? `\n${text.replace("{why}", () => told.why)}` : "";
}

/**
 * Which chat this is, for what was shown there: its digest, as the parts may be long. Not the same chat means only that a call
 * is shown again.
 * @param {any} ctx
 * @param {string} action
 */
function place(ctx, action) {
  if (!SHOWS.has(action)) return {};
  const parts = [ctx.channel, ctx.accountId, ctx.sessionKey, ctx.from, ctx.to, ctx.messageThreadId];
  const named = JSON.stringify(parts.map((part) => (part === undefined || part === null ? "" : String(part))));
  return { chat: createHash("sha256").update(named).digest("hex") };
}

/**
 * Nothing that stops agents waits for the look at connections.
 * @param {string} action
 * @param {string} nonce
 */
function loosens(action, nonce) {
  return LOOSENS.has(action) || (action === "kill-switch" && nonce !== "on");
}

/**
 * Whether the command came over a connection to the gateway itself, whatever channel it names.
 * @param {any} ctx
 */
function isOperator(ctx) {
  return Array.isArray(ctx.gatewayClientScopes) || OWN_CHAT.has(String(ctx.channel ?? ""));
}

/**
 * Takes the option, wherever it is, out of the words behind a nonce: how long to allow the call, empty where the option is
 * missing, undefined where it has no value. A first word `for` is the option too; `--session` is the period "session".
 * @param {string[]} words
 */
function period(words) {
  const session = words.findIndex((word) => FOR_SESSION.test(word));
  if (session >= 0) {
    words.splice(session, 1);
    return words.some((word) => FOR_A_WHILE.test(word)) ? undefined : "session";
  }
  const at = words[0]?.toLowerCase() === "for" ? 0 : words.findIndex((word) => FOR_A_WHILE.test(word));
  if (at < 0) return "";
  const attached = FOR_A_WHILE.exec(words[at] ?? "")?.[1];
  const [, next] = words.splice(at, attached === undefined ? 2 : 1);
  return (attached ?? next)?.toLowerCase() || undefined;
}

/**
 * @param {string} action
 * @param {string} nonce
 */
function isComplete(action, nonce) {
  if (action === "kill-switch") return SWITCHED.has(nonce);
  if (action === "checkpoint") return nonce === "" || nonce === "all";
  return ALONE.has(action) || (WITH_NONCE.has(action) && nonce !== "");
}

/**
 * The tool with which an agent passes on a user's approval; registered only if the settings allow it.
 * @param {() => Engine | undefined} engine
 */
export function approveTool(engine) {
  return {
    name: "toolguard_approve",
    description: "Approve a held tool call after the user has confirmed it. The nonce is in the TOOLGUARD_ESCALATE line.",
    parameters: {
      type: "object",
      additionalProperties: false,
      required: ["nonce"],
      properties: {
        nonce: { type: "string", description: "The nonce of the held call" },
        reason: { type: "string", description: "Why the user approved it" },
      },
    },
    execute: async (/** @type {string} */ _id, /** @type {any} */ params) => {
      const { nonce, reason } = params ?? {};
      const answer = await engine?.()?.ask({
        type: "decide", action: "approve", by: "agent", where: "tool",
        nonce: String(nonce ?? "").slice(0, LONGEST), why: String(reason ?? "").slice(0, LONGEST),
      });
      return { content: [{ type: "text", text: answer?.text ?? NO_ANSWER }] };
    },
  };
}
