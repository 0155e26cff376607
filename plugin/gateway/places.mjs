// Whether a call names a place that is protected while the engine is silent: the guard's own files, keys, credentials. The
// places are data (`places.json`, generated from the engine's tables); this module compares names with them and resolves
// links. It runs only for calls that the engine does not judge, so it may be slow; in doubt a call counts as naming one.

import { homedir } from "node:os";
import { basename, join, posix } from "node:path";

import { NEAR_LISTERS } from "./catalogue.mjs";
import { includedBy, stampOf } from "./config_includes.mjs";
import { bothNames, isOdd, leadsTo } from "./links.mjs";
import { expanded, formsOf, lower, PLAIN, quotedIn, textsOf, variantsOf } from "./name_forms.mjs";
import { ANY, MAX_PARTS, TABLE } from "./place_table.mjs";

const MAX_WORDS = 10_000;
const MAX_WORD = 4_096;
/** Work limit of one call, about as many short comparisons; beyond it the call counts as naming a protected place. */
export const MAX_WORK = 3_000_000;
/** Names of one call that are resolved through links. */
const MAX_LINKS = 200;
const GLOB = /[*?[\u0001]/;
const BREAKS = /[\s"'`;|&<>(){}=,:]+/;
/** URLs, variables, other systems' separators: not a plain file name. */
const UNPLAIN = /[a-z][\w+.-]*:\/\/(?<!^file:\/\/)|^data:|[\0$\\\u0001]/i;
const DEVICES = /^\/(?:proc|sys|dev)(?:\/|$)/;
/** Stands for an unknown folder: paths relative to it may be anywhere. */
const UNKNOWN = "/\u0002";
const PROCESS = /^\/proc\/[^/]+\/(?:task\/[^/]+\/)?(?:root|cwd|fd|environ|mem|maps|exe|map_files)(?=\/|$)/;
const HOME = /^\/(?:(?:home|users|var\/home|export\/home)\/[^/]+|root|var\/root)(?=\/|$)/;
const SYSTEM_PATTERN = new RegExp(TABLE.systemPattern);
const ENV_FILE = new RegExp(TABLE.envFile);
const PROGRAMS = new RegExp(`(?:^|[\\s;|&(\`/"'])(?:${TABLE.programs.join("|")})(?:\\.mjs|\\.js|@[\\w.-]+)?(?=$|[\\s;|&)\`"'])`);
/** Places with a space in their name; words of a command have none. @type {string[]} */
const SPACED = [
  ...TABLE.systemSecrets,
  ...Object.entries(TABLE.homeSecrets).flatMap(([first, tails]) => tails.map((/** @type {string} */ tail) => `${first}/${tail}`)),
].filter((place) => place.includes(" "));
/** Secrets and files of the guard in a state folder. @type {string[]} */
const STATE_TAILS = [...TABLE.guarded, ...TABLE.stateSecrets];
/** Protected places in any home folder, split into parts. @type {string[][]} */
const HIDDEN = [
  .../** @type {[string, string[]][]} */ (Object.entries(TABLE.homeSecrets)),
  .../** @type {[string, string[]][]} */ (TABLE.states.map((/** @type {string} */ name) => [name, TABLE.guarded])),
].flatMap(([first, tails]) => (tails.length > 0 ? tails : [""]).map((tail) => partsOf(`${first}/${tail}`)));
const LISTS_ONLY = new RegExp(`^\\s*(?:${NEAR_LISTERS.join("|")})(?:\\s[^;|&\`$<>()\\n]*)?$`);

/**
 * Locations on this host. All paths are absolute; empty if not known.
 * `guarded`: other files and folders of the guard.
 * @typedef {{ home: string, state: string, config: string, metrics: string, guarded: string[] }} Facts
 */

/**
 * The locations that the gateway knows.
 * @param {string} state the gateway's state directory
 * @param {string} config the gateway's config file
 * @param {any} settings the plugin's entry
 * @param {string[]} [guarded]
 * @returns {Facts}
 */
export function factsOf(state, config, settings, guarded = []) {
  const home = process.env.HOME || homedir();
  const named = settings?.metrics?.dbPath;
  const path = typeof named === "string" && named ? named : TABLE.metrics.path;
  const base = process.env.OPENCLAW_HOME || home;
  const metrics = path.startsWith("~/") ? join(base, path.slice(2)) : posix.resolve(base, path);
  const store = typeof settings?.storePath === "string" ? settings.storePath.replace(/^~\/\.openclaw(?=\/)/, state) : "";
  const own = [store, ...secretsOf(settings)].map((each) => each.replace(/^~(?=\/)/, home));
  return { home, state, config, metrics, guarded: [...guarded, ...own].filter((each) => each.startsWith("/")) };
}

/**
 * The files with the addresses and secrets of notification targets.
 * @param {any} settings the plugin's entry
 * @returns {string[]}
 */
function secretsOf(settings) {
  const targets = settings?.notify?.targets;
  const found = targets && typeof targets === "object" ? Object.values(targets).flatMap((each) => [each?.urlFile, each?.secretFile]) : [];
  return found.filter((each) => typeof each === "string");
}

/**
 * How to read the texts of a call. `workspace`: the base of relative names; `runs`: they are commands; `opens`: they are file
 * names, and anything that is not a plain name counts as protected; `shallow`: the tool cannot reach what is below a folder.
 * @typedef {{ workspace: string, runs: boolean, opens: boolean, shallow: boolean }} How
 */

/**
 * How many names of a call may still be resolved, and the results so far.
 * @typedef {{ left: number, known: Map<string, string> }} Links
 */

export class Places {
  #home;
  #config;
  /** @type {Set<string>} folders and files, in lower case: protected with all they contain */
  #whole = new Set();
  /** @type {Set<string>} folders that hold secrets among other files: protected without their content */
  #exact = new Set();
  /** @type {Set<string>} prefixes of protected paths: `openclaw.json` with its copies, `.claude/.credentials` */
  #starts = new Set();
  /** @type {Set<string>} places that a recursive search of a parent folder would reach */
  #inner = new Set();
  #metricsName;
  #variables;
  #work = 0;
  /** @type {string[]} the files that the config includes */
  #includes = [];
  /** Whether the list is complete. If the config includes too much to read, every call counts as naming a protected place. */
  #hasAllIncludes = true;
  #stamps = "";
  /** The protected places split into parts; created when wildcards are first compared. @type {string[][] | null} */
  #places = null;

  /** @param {Facts} facts */
  constructor({ home, state, config, metrics, guarded }) {
    this.#home = lower(home);
    this.#config = config;
    this.#metricsName = lower(basename(metrics));
    for (const each of bothNames(home)) this.#addHome(each);
    for (const each of bothNames(state)) this.#addState(each);
    if (config) this.#add(config, { start: true });
    if (metrics) this.#add(metrics, { start: true });
    for (const path of guarded) this.#add(path, { searched: false });
    this.#variables = this.#variablesOf(lower(state), lower(config));
  }

  /** @param {string} home */
  #addHome(home) {
    if (!home || home === "/") return;
    for (const name of TABLE.states) this.#addState(join(home, name));
    for (const [first, tails] of Object.entries(TABLE.homeSecrets))
      for (const tail of tails.length > 0 ? tails : [""]) this.#add(join(home, first, tail), { start: tail !== "" });
    for (const name of [...Object.keys(TABLE.homeSecrets), ...TABLE.states]) this.#exact.add(lower(join(home, name)));
  }

  /** @param {string} state */
  #addState(state) {
    if (!state) return;
    for (const tail of [...TABLE.guarded, ...TABLE.stateSecrets])
      this.#add(join(state, tail), { start: TABLE.configs.includes(tail) });
  }

  /**
   * @param {string} path
   * @param {{ start?: boolean, searched?: boolean }} [how]
   */
  #add(path, { start = false, searched = true } = {}) {
    for (const each of path ? bothNames(path) : []) {
      const place = lower(posix.normalize(each)).replace(/(.)\/+$/, "$1");
      this.#whole.add(place);
      this.#places = null;
      if (start) this.#starts.add(place);
      if (searched) this.#inner.add(place);
    }
  }

  /**
   * @param {string} state
   * @param {string} config
   * @returns {Record<string, string>}
   */
  #variablesOf(state, config) {
    const homes = Object.entries(TABLE.homeVariables).map(([name, tail]) => [name, this.#home + tail]);
    return {
      ...Object.fromEntries(homes), openclaw_home: this.#home, openclaw_state_dir: state, clawdbot_state_dir: state,
      openclaw_config_path: config, pwd: ".", oldpwd: ".",
    };
  }

  /** The work done for the last call. */
  get work() {
    return this.#work;
  }

  /**
   * Counts work that is about to be done.
   * @param {number} amount
   * @returns {boolean} whether it exceeds the limit of one call
   */
  #isTooMuch(amount) {
    this.#work += amount;
    return this.#work > MAX_WORK;
  }

  /**
   * Whether any argument of a call names a protected place, in any spelling.
   * @param {string} tool
   * @param {any} params
   * @param {How} how
   */
  namedBy(tool, params, how) {
    this.#takeIncludes();
    if (!this.#hasAllIncludes) return true;
    this.#work = 0;
    if (TABLE.controlTools.includes(tool)) return true;
    const texts = textsOf(params);
    if (texts === null) return true;
    const links = { left: MAX_LINKS, known: new Map() };
    return texts.some((text) => this.#namedIn(text, how, links) || this.#namedRepaired(text, how, links)) || (!how.shallow && this.#isAbove(lower(how.workspace)));
  }

  /**
   * Whether a text names a protected place once a file tool has repaired it.
   * @param {string} text
   * @param {How} how
   * @param {Links} links
   */
  #namedRepaired(text, how, links) {
    if (how.runs || text.length > MAX_WORD || PLAIN.test(text)) return false;
    const forms = formsOf(text, how.workspace || UNKNOWN);
    return forms === null || this.#isTooMuch(text.length / 16) || forms.some((form) => this.#namedIn(form, how, links));
  }

  /**
   * Protects the files that the config includes: they hold settings and secrets as well. They are read again when one of them
   * has changed; a file that was included before stays protected.
   */
  #takeIncludes() {
    if (!this.#config || this.#stamps === [this.#config, ...this.#includes].map(stampOf).join()) return;
    const before = stampOf(this.#config); // a change during the read is noticed the next time
    const { files, isAll } = includedBy(this.#config);
    for (const file of files) this.#add(file, { start: true });
    this.#hasAllIncludes = isAll;
    this.#includes = files;
    this.#stamps = [before, ...files.map(stampOf)].join();
  }

  /**
   * @param {string} text
   * @param {How} how
   * @param {Links} links
   */
  #namedIn(text, how, links) {
    if (how.opens && (text.length > MAX_WORD || UNPLAIN.test(text))) return true;
    const isName = !/\s/.test(text);
    if (text.length <= MAX_WORD && this.#isNamed(text, how, links, true)) return true;
    if (isName && !how.runs && !BREAKS.test(text) && !/[$\\%]/.test(text)) return false;
    const shallow = how.shallow || LISTS_ONLY.test(text);
    /** @type {Set<string>} */
    const seen = new Set();
    for (const variant of variantsOf(text, (name) => this.#variables[name])) {
      if ((how.runs && PROGRAMS.test(variant)) || SPACED.some((place) => variant.includes(place))) return true;
      for (const word of [...variant.split(BREAKS), ...quotedIn(variant)]) {
        if (!word || seen.has(word)) continue;
        if (seen.size >= MAX_WORDS) return true;
        seen.add(word);
        if (word.length > MAX_WORD || !(how.runs || /[./~_*?[\u0001@]/.test(word))) continue;
        if (this.#isNamed(word, { ...how, shallow: shallow || !how.runs }, links, how.runs)) return true;
      }
    }
    return false;
  }

  /**
   * Whether one name, or the path that it resolves to, is protected.
   * @param {string} name
   * @param {How} how
   * @param {Links} links
   * @param {boolean} bare whether a word without separators may be a file
   */
  #isNamed(name, how, links, bare) {
    const path = this.#pathOf(name, how.workspace);
    if (path === null) return false;
    const small = lower(path);
    if ((bare || /[/.~]/.test(name)) && this.#isProtected(small)) return true;
    const followed = links.left > 0 ? leadsTo(path, links.known) : "";
    if (followed) links.left -= 1;
    if (how.opens && (!followed || DEVICES.test(followed) || isOdd(followed))) return true;
    if (followed && lower(followed) !== small && this.#isProtected(lower(followed))) return true;
    return !how.shallow && (this.#isAbove(small) || (followed !== "" && this.#isAbove(lower(followed))));
  }

  /**
   * The absolute path that a word stands for; relative to an unknown folder, a path below `UNKNOWN`.
   * @param {string} word
   * @param {string} workspace
   */
  #pathOf(word, workspace) {
    let name = word.trim().replace(/^@+/, "").replace(/^(?:file:)?\/\/(?:localhost|127\.0\.0\.1)?(?=\/)/i, "");
    if (name.includes("$") || name.includes("%")) name = expanded(name, (each) => this.#variables[each]);
    if (/^~[\w.+-]*(?=\/|$)/.test(name)) name = name.replace(/^~([\w.+-]*)/, (_, user) => this.#homeOf(user));
    if (!name || name.includes("\0")) return null;
    name = name.replace(/\[([^\]!^])\]/g, "$1"); // a class of one
    return posix.normalize(name.startsWith("/") ? name : `${workspace || UNKNOWN}/${name}`).replace(/^\/+/, "/");
  }

  /** @param {string} user */
  #homeOf(user) {
    if (user === "root" && basename(this.#home) !== "root") return "/root";
    return user === "" || user === "+" || user === basename(this.#home) ? this.#home : `/home/${user}`;
  }

  /** @param {string} path absolute, in lower case */
  #isProtected(path) {
    const at = path.replace(/(.)\/+$/, "$1");
    if (this.#isTooMuch(this.#whole.size + this.#starts.size + path.length)) return true;
    if (PROCESS.test(at) || this.#exact.has(at)) return true;
    if (SYSTEM_PATTERN.test(at) || TABLE.systemSecrets.some((/** @type {string} */ start) => at.startsWith(start))) return true;
    for (const place of this.#whole) if (at === place || at.startsWith(`${place}/`)) return true;
    for (const start of this.#starts) if (at.startsWith(start)) return true;
    const parts = at.split("/").filter(Boolean);
    if (parts.length > MAX_PARTS) return true;
    return this.#isSecretName(parts, at) || this.#hasTail(parts) || (GLOB.test(at) && this.#mayBe(parts));
  }

  /**
   * Whether the file name alone marks a secret.
   * @param {string[]} parts
   * @param {string} path
   */
  #isSecretName(parts, path) {
    const last = parts.at(-1) ?? "";
    if (this.#metricsName && last.includes(this.#metricsName) && /\.(?:token|server)\b/.test(last)) return true;
    if (TABLE.publicFolders.some((/** @type {string} */ folder) => path.startsWith(folder)) && !HOME.test(path)) {
      if (!/^\/(?:var\/)?tmp\//.test(path)) return false;
    }
    if (TABLE.secretNames.includes(last) || ENV_FILE.test(last)) return true;
    if (GLOB.test(last)) return isSecretGlob(last);
    if (!TABLE.secretEnds.some((/** @type {string} */ end) => last.endsWith(end))) return false;
    return last.startsWith(".") || !TABLE.publicParts.some((/** @type {string} */ part) => last.includes(part));
  }

  /**
   * Whether the end of a path is that of a protected place in any folder.
   * @param {string[]} parts
   */
  #hasTail(parts) {
    const text = parts.join("/");
    let behind = 0;
    for (const part of parts) {
      behind += part.length + 1;
      if (TABLE.states.includes(part) && startsWithOne(text, behind, STATE_TAILS)) return true;
      const tails = part.startsWith(".") || part.startsWith("_") ? TABLE.homeSecrets[part] : undefined;
      if (tails && (tails.length === 0 || startsWithOne(text, behind, tails))) return true;
    }
    const last = parts.at(-1) ?? "";
    return TABLE.configs.includes(last) || TABLE.ownFiles.some((/** @type {string} */ own) => text.endsWith(`/${own}`) || text === own);
  }

  /**
   * Whether wildcards may match a protected place or a folder that holds one.
   * @param {string[]} parts
   */
  #mayBe(parts) {
    const cost = 4 + parts.reduce((sum, part) => sum + part.length, 0) / 16;
    this.#places ??= [...this.#whole, ...TABLE.systemSecrets].map(partsOf);
    if (this.#isTooMuch(cost * this.#places.length)) return true;
    if (this.#places.some((place) => covers(parts, place))) return true;
    for (const [at, part] of parts.entries()) {
      if (!GLOB.test(part) || !/^[.[\u0001]/.test(part)) continue;
      if (part === ANY && !parts.slice(at + 1).some((each) => !GLOB.test(each))) continue;
      if (this.#isTooMuch(cost * HIDDEN.length)) return true;
      const rest = parts.slice(at);
      if (HIDDEN.some((place) => covers(rest, place, part.startsWith(".")))) return true;
    }
    return false;
  }

  /**
   * Whether a folder contains protected places, so that a recursive search of it would reach them.
   * @param {string} path absolute, in lower case
   */
  #isAbove(path) {
    if (!path) return false;
    const start = `${path.replace(/\/+$/, "")}/`;
    for (const place of this.#inner) if (place.startsWith(start)) return true;
    return false;
  }
}

/** @param {string} path */
function partsOf(path) {
  return path.split("/").filter(Boolean);
}

/**
 * Whether the text from this index starts with one of these.
 * @param {string} text
 * @param {number} at
 * @param {string[]} starts
 */
function startsWithOne(text, at, starts) {
  return starts.some((start) => text.startsWith(start, at) || (text.length - at === start.length - 1 && `${text.slice(at)}/` === start));
}

/**
 * Whether wildcards match a place, part by part, up to the end of the shorter one.
 * @param {string[]} parts
 * @param {string[]} place
 * @param {boolean} [known] whether the first part need not be plain
 */
function covers(parts, place, known = false) {
  let plain = known ? 1 : 0;
  for (const [at, part] of parts.entries()) {
    const name = place[at];
    if (part === "**") return plain > 0;
    if (name === undefined) return plain > 0;
    if (GLOB.test(part)) {
      if (!fits(part, name)) return false;
      if (/[\w-]/.test(part)) plain += 1;
    } else if (part === name || (at === place.length - 1 && part.startsWith(name))) plain += 1;
    else return false;
  }
  return plain > 0;
}

/**
 * Shell wildcards: a leading dot is matched only by a dot, by `[` or by an unknown part.
 * @param {string} pattern
 * @param {string} name
 */
function fits(pattern, name) {
  if (name.startsWith(".") && !/^[.[\u0001]/.test(pattern)) return false;
  const simple = pattern.replace(/\[[^\]]{1,100}\]/g, "?").replaceAll(ANY, "*");
  let at = 0;
  let here = 0;
  let star = -1;
  let kept = 0;
  while (here < name.length) {
    if (at < simple.length && simple[at] === "*") {
      star = at++;
      kept = here;
    } else if (at < simple.length && (simple[at] === "?" || simple[at] === name[here])) {
      at += 1;
      here += 1;
    } else if (star >= 0) {
      at = star + 1;
      here = ++kept;
    } else return false;
  }
  return /^\**$/.test(simple.slice(at));
}

/**
 * Whether wildcards in a file name match secrets: `*.pem`, `id_*`, `.e*`.
 * @param {string} last
 */
function isSecretGlob(last) {
  if (TABLE.secretGlobs.includes(last)) return true;
  const begins = last.slice(0, last.search(GLOB));
  if (begins.length < 2 && !last.startsWith(".")) return false;
  return [...TABLE.secretNames, ".env.local"].some((name) => fits(last, name));
}
