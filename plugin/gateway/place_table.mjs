// The protected places as data, generated from the engine's tables, and the sign for what is not known of a name.

import { readFileSync } from "node:fs";

/** @type {any} */
export const TABLE = JSON.parse(readFileSync(new URL("./places.json", import.meta.url), "utf8"));

/** A part of a name that only the shell knows. */
export const ANY = "\u0001";

/** Parts of one path. A longer path counts as protected. */
export const MAX_PARTS = 100;
