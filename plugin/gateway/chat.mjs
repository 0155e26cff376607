// The chat command `/toolguard approve|deny|revive|pending|checkpoint|kill-switch|accept`, answered without the model, and the
// agent's approval tool, if the settings allow it.

/** @typedef {Pick<import("./engine.mjs").Engine, "ask">} Engine */

const LONGEST = 1_000;
const USAGE = [
  "Usage: /toolguard pending - list the held calls",
  "/toolguard approve <nonce> - let the call run once",
  "/toolguard deny <nonce> [reason] - refuse the call",
  "/toolguard revive <nonce> - ask the agent to repeat a call that expired unanswered; it is then held again",
  "/toolguard checkpoint - confirm that you reviewed the work: refill the budget of this chat's agent; checkpoint all - of every chat",
  "/toolguard kill-switch on|off [reason] - block every call of every agent, or allow them again",
  "/toolguard accept <code> - accept weaker settings (/toolguard pending shows them and the code)",
].join("\n");
const OWNER_ONLY = "Only the owner of this gateway may use this command.";
const ALONE = new Set(["pending", "accept"]);
const WITH_NONCE = new Set(["approve", "deny", "revive"]);
const SWITCHED = new Set(["on", "off"]);
const FOR_A_WHILE = new Set(["for", "--for"]);
const ONCE_ONLY = "Nothing was approved. In chat, a call can only be approved once: /toolguard approve NONCE. To allow exactly this call for a while, \
use `toolguard approve NONCE --for 1d` in a terminal, or \"Allow for a while\" on the dashboard; both show what it would cover.";
const NO_ANSWER = "The guard is not answering. Run `toolguard doctor` in a terminal.";

/**
 * The gateway passes `senderIsOwner` to third-party commands only if they require a scope.
 * @param {() => Engine | undefined} engine
 */
export function chatCommand(engine) {
  return {
    name: "toolguard",
    description: "Approve or deny held tool calls, list them, refill budgets, or block every call",
    acceptsArgs: true,
    requireAuth: true,
    requiredScopes: ["operator.approvals"],
    handler: (/** @type {any} */ ctx) => answered(engine(), ctx),
  };
}

/**
 * @param {Engine | undefined} engine
 * @param {any} ctx
 */
async function answered(engine, ctx) {
  if (ctx?.senderIsOwner !== true) return { text: OWNER_ONLY, isError: true };
  const [action = "", nonce = "", ...why] = String(ctx.args ?? "").trim().split(/\s+/);
  if (!isComplete(action, nonce)) return { text: USAGE };
  if (action === "approve" && FOR_A_WHILE.has((why[0] ?? "").toLowerCase())) return { text: ONCE_ONLY.replaceAll("NONCE", nonce.slice(0, 64)), isError: true };
  const session = action === "checkpoint" && typeof ctx.sessionKey === "string" ? { session: ctx.sessionKey.slice(0, LONGEST) } : {};
  const by = [ctx.channel, ctx.senderId].filter(Boolean).join(":") || "owner";
  const answer = await engine?.ask({
    type: "decide", action, nonce: nonce.slice(0, LONGEST), why: why.join(" ").slice(0, LONGEST), by, where: "chat",
    ...session,
  });
  return { text: answer?.text ?? NO_ANSWER, isError: answer?.ok !== true };
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
