// Answers the gateway's own prompts when a person has decided elsewhere: for a held call (`toolguard approve`, the dashboard,
// chat), and for a command that the gateway itself has approved (`tools.exec.mode`) after a person said yes to the held call.
//
// The gateway has no function for that in the plugin's interface. Its plugin SDK (`openclaw/plugin-sdk/gateway-runtime`)
// connects as a client that may decide. It is required from the gateway's own program: a copied plugin has no dependencies, and
// an `import` in a plugin gives another instance of the SDK, whose token the gateway does not know (2026.9.6).

import { realpathSync } from "node:fs";
import { createRequire } from "node:module";

/** @typedef {import("./engine.mjs").Logger} Logger */

const SDK = "openclaw/plugin-sdk/gateway-runtime";
const LIMIT_MS = 10_000;
const TRIES = 20;
const PAUSE_MS = 250;
/** The gateway's own reviewer, a model, comes before its question: it takes a minute at most. */
const REVIEW_MS = 180_000;
const DECISIONS = { approve: "allow-once", deny: "deny" };
const pause = (/** @type {number} */ ms) => new Promise((done) => setTimeout(done, ms).unref?.());

export class Answerer {
  #logger;
  #config;
  #connect;

  /**
   * @param {Logger} logger
   * @param {() => any} config of the gateway
   * @param {(config: any, onEvent?: (event: any) => void) => Promise<{ request: Function, end: () => unknown }>} [connect]
   */
  constructor(logger, config, connect = connected) {
    this.#logger = logger;
    this.#config = config;
    this.#connect = connect;
  }

  /**
   * @param {string} nonce
   * @param {"approve" | "deny"} decision
   * @param {{ session: string, id: string }} prompt the call that is asked about
   * @param {() => boolean} isOpen whether the prompt still waits for this decision
   * @param {() => Promise<boolean>} [confirm] called once, right before the answer: whether the decision still holds
   */
  async answer(nonce, decision, { session, id }, isOpen, confirm = async () => true) {
    /** @type {{ request: Function, end: () => unknown } | undefined} */
    let client;
    try {
      client = await this.#connect(this.#config());
      for (let tries = 0; tries < TRIES && isOpen(); tries += 1) {
        const listed = await client.request("plugin.approval.list", {});
        const found = promptsOf(listed).find(({ request }) => request?.toolCallId === id && request?.sessionKey === session);
        if (found) return void ((await confirm()) && (await client.request("plugin.approval.resolve", { id: found.id, decision: DECISIONS[decision] })));
        await pause(PAUSE_MS);
      }
      if (isOpen()) throw new Error("the gateway does not list it");
    } catch (error) {
      if (!isOpen()) return;
      const why = error instanceof Error ? error.message : String(error);
      this.#logger.warn(`[toolguard] ${decision} of ${nonce} could not be passed on to the gateway's own prompt (${why}); answer it there`);
    } finally {
      await client?.end();
    }
  }

  /**
   * A person has approved a command and it runs: answers the gateway's own question about it, if there is one. Where this
   * cannot be done, the person is asked once more.
   * @param {{ session: string | undefined, id: string, command: unknown }} call
   * @param {Promise<unknown>} ended when the call has
   */
  async review({ session, id, command }, ended) {
    /** @type {(request: any) => void} */
    let take = () => {};
    const asked = new Promise((done) => (take = done));
    const isIt = (/** @type {any} */ { request } = {}) =>
      request?.toolCallId === id && request.sessionKey === session && request.command === command;
    const onEvent = (/** @type {any} */ event) => event?.event === "exec.approval.requested" && isIt(event.payload) && take(event.payload);
    /** @type {{ request: Function, end: () => unknown } | undefined} */
    let client;
    try {
      client = await this.#connect(this.#config(), onEvent);
      const open = promptsOf(await client.request("exec.approval.list", {})).find(isIt);
      if (open) take(open);
      const found = await Promise.race([asked, ended, pause(REVIEW_MS)]);
      if (isIt(found)) await client.request("exec.approval.resolve", { id: found.id, decision: DECISIONS.approve });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#logger.debug?.(`[toolguard] the gateway's own question about an approved command was not answered (${why})`);
    } finally {
      await client?.end();
    }
  }
}

/** @param {any} listed @returns {any[]} */
function promptsOf(listed) {
  const found = Array.isArray(listed) ? listed : listed?.approvals ?? listed?.pending ?? listed?.items;
  return Array.isArray(found) ? found : [];
}

/**
 * @param {any} config
 * @param {(event: any) => void} [onEvent] of what the gateway sends by itself
 */
async function connected(config, onEvent) {
  const sdk = createRequire(realpathSync(process.argv[1] ?? ""))(SDK);
  /** @type {any} */
  let client;
  const ready = new Promise((done, failed) => {
    setTimeout(() => failed(new Error("the gateway did not answer")), LIMIT_MS).unref?.();
    sdk.createOperatorApprovalsGatewayClient({
      config, clientDisplayName: "toolguard", onEvent, onHelloOk: done, onConnectError: failed,
      onClose: (/** @type {number} */ code, /** @type {string} */ reason) => failed(new Error(`closed (${code}): ${reason}`)),
    }).then((/** @type {any} */ made) => ((client = made), sdk.startGatewayClientWhenEventLoopReady(client, { clientOptions: {} }))).catch(failed);
  });
  const end = () => client?.stopAndWait?.().catch(() => client.stop());
  try {
    await ready;
  } catch (error) {
    await end();
    throw error;
  }
  return { request: (/** @type {string} */ method, /** @type {any} */ params) => client.request(method, params), end };
}
