// Which other plugins hook into tool calls, and which of them run after the guard.
//
// The gateway keeps its hooks in an undocumented place; if it is missing, nothing is reported. Hooks run from the highest
// priority to the lowest, equal ones in the order of registration.

const STATE = Symbol.for("openclaw.plugins.hook-runner-global-state");
const HOOK = "before_tool_call";
const OWN = "toolguard";

/** @typedef {{ plugin: string, priority: number }} Other */

/**
 * All `before_tool_call` hooks in their order of execution; null if the gateway does not expose them.
 * @param {any} [state]
 * @returns {Other[] | null}
 */
export function order(state = /** @type {any} */ (globalThis)[STATE]) {
  const hooks = state?.registry?.typedHooks;
  if (!Array.isArray(hooks)) return null;
  return hooks
    .filter((hook) => hook?.hookName === HOOK)
    .map((hook) => ({ plugin: String(hook.pluginId ?? "?"), priority: Number(hook.priority ?? 0) }))
    .sort((one, other) => other.priority - one.priority); // stable
}

/**
 * The hooks of other plugins, and those of them that run after the guard.
 * @param {Other[] | null} hooks
 * @returns {{ others: Other[], after: Other[] }}
 */
export function split(hooks) {
  const all = hooks ?? [];
  const own = all.findLastIndex((hook) => hook.plugin === OWN);
  const others = all.filter((hook) => hook.plugin !== OWN);
  return { others, after: own < 0 ? [] : all.slice(own + 1) };
}

/** @param {Other[]} hooks */
export function named(hooks) {
  return hooks.map(({ plugin, priority }) => `${plugin} (priority ${priority})`).join(", ");
}

/** Warns about plugins that run after the guard, once per set of plugins. */
export class OrderWatch {
  #warn;
  #read;
  #reported = "";

  /**
   * @param {(text: string) => void} warn
   * @param {() => Other[] | null} [read]
   */
  constructor(warn, read = order) {
    this.#warn = warn;
    this.#read = read;
  }

  /** The other plugins that may change a call. */
  get others() {
    return named(split(this.#read()).others);
  }

  check() {
    const { after } = split(this.#read());
    const names = named(after);
    if (names === this.#reported) return;
    this.#reported = names;
    if (after.length === 0) return;
    this.#warn(
      `SECURITY: ${names} runs after the guard on every tool call and can change what was judged. ` +
        "Each call is compared with what ran, and a run in which they differ is stopped. Remove that plugin or raise its priority.",
    );
  }
}
