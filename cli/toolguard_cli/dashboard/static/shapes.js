// Types of the API's answers, with the names of `toolguard_engine/metrics/result_types.py` and
// `toolguard_cli/dashboard/api_types.py`, which describe them. A test compares the two. A tab may define its own shapes.

/** @typedef {"24h" | "7d" | "30d"} Range */
/** @typedef {{ calls: number, failed: number, input: number, output: number, cacheRead: number, cacheWrite: number, total: number, priced: number, costUsd: number, estimatedUsd: number, timed: number, durationMs: number }} Totals */
/** @typedef {{ name: string, totals: Totals, provider: string, agent: string, gateway: string }} Share */
/** @typedef {{ judged: number, allowed: number, malformed: number, held: number, approved: number, denied: number, expired: number, blocked: number, stopped: number, loops: number, noted: number, security: number, requestsSaved: number }} GuardTotals */
/** @typedef {{ range: Range, start: number, now: number, totals: Totals, ended: Totals, previous: Totals | null, gateways: Share[], models: Share[], guard: GuardTotals, since: number | null, last: number | null }} MetricsOverview */
/** @typedef {{ name: string, calls: number[], input: number[], output: number[], cacheRead: number[], cacheWrite: number[], total: number[], costUsd: number[], estimatedUsd: number[], rest: boolean }} Series */
/** @typedef {{ range: Range, bucketMs: number, at: number[], series: Series[] }} Timeseries */
/** @typedef {{ model: string, provider: string, totals: Totals, tokenShare: number, costShare: number, costPer1k: number | null, meanMs: number | null }} ModelRow */
/** @typedef {{ range: Range, models: ModelRow[] }} Models */
/** @typedef {{ id: number, at: number, gateway: string, agent: string, session: string, channel: string, provider: string, model: string, input: number, output: number, cacheRead: number, cacheWrite: number, total: number, costUsd: number | null, estimated: boolean, durationMs: number | null, outcome: string }} CallRow */
/** @typedef {{ id: number, at: number, gateway: string, agent: string, session: string, run: string, tool: string, kind: string, decision: string, code: string, reason: string, nonce: string, shown: string, person: string, place: string }} DecisionRow */
/** @typedef {{ decisions: DecisionRow[], next: number | null, answers: DecisionRow[] }} Decisions */
/** @typedef {{ at: number, agent: string, session: string, run: string, gateway: string, call: CallRow | null, decision: DecisionRow | null }} TimelineEvent */
/** @typedef {{ events: TimelineEvent[], since: number, until: number, isCut: boolean, totals: Totals, next: string }} Timeline */
/** @typedef {{ range: Range, bucketMs: number, at: number[], kinds: Record<string, number[]>, loops: number[], totals: GuardTotals, codes: Record<string, number>, savedPerLoop: number, words: Record<string, string> }} GuardOverview */
/** @typedef {{ id: string, totals: Totals, models: Share[], host: string, version: string, seen: number | null }} GatewayRow */
/** @typedef {{ range: Range, gateways: GatewayRow[] }} Gateways */
/** @typedef {{ range: Range, gateway: GatewayRow, agents: Share[], sessions: Share[], channels: Share[], days: Totals, daysStart: number }} GatewayTotals */
/** @typedef {{ text: string, brief: string, now: string, why: string[], target: string }} Danger */
/** @typedef {{ number: number, text: string, danger: boolean }} CodeRow */
/** @typedef {{ name: string, rows: CodeRow[], hidden: number, whole: string }} CodeBlock */
/** @typedef {{ title: string, dangers: Danger[], also: string[], changes: string[], why: string, fields: string[], blocks: CodeBlock[], notes: string[], complete: boolean, read: boolean, enough: boolean }} HeldView */
/** @typedef {{ gateway: string, nonce: string, status: string, tool: string, agent: string, session: string, code: string, reason: string, shown: string, whole: boolean, cwd: string, created: number, expires: number, view: HeldView, would: string[], rules: string[], allows: string, alike: string, whyOnce: string }} HeldCallView */
/** @typedef {{ now: number, pending: HeldCallView[], problems: string[], unread: string[] }} Pending */
/** @typedef {{ gateway: string, nonce: string, status: string, tool: string, agent: string, session: string, code: string, reason: string, shown: string, created: number, decided: number, by: string, where: string, why: string, undo: string }} SettledCall */
/** @typedef {{ now: number, settled: SettledCall[], missed: number, problems: string[] }} SettledCalls */
/** @typedef {{ key: string, words: string, per: string, unit: string, amount: number, used: number, share: number, state: "free" | "near" | "reached", begins: number, ends: number, agent: string, model: string, forecast: number | null, due: number | null, session: string, gateway: string, unpriced: string[], raiseCommand: string }} CapUse */
/** @typedef {{ begins: number, ends: number, usedUsd: number, usedTokens: number, forecastUsd: number, forecastTokens: number, estimated: boolean, partly: boolean }} PeriodForecast */
/** @typedef {{ day: PeriodForecast, month: PeriodForecast }} SpendingForecast */
/** @typedef {{ loops: number, requests: number, requestsPerLoop: number, usdPerRequest: number | null, usd: number | null }} Savings */
/** @typedef {{ range: Range, forecast: SpendingForecast, savings: Savings, caps: CapUse[] }} Spending */
/** @typedef {{ at: number, by: string, why: string }} Switch */
/** @typedef {{ state: "guarded" | "stopped" | "observing" | "off" | "partly" | "idle" | "unproven", since: number, text: string, fix: string }} Protection */
/** @typedef {{ agent: string, session: string, spent: number, left: number, size: number, trust: number, mode: string, signals: string[], waits: boolean, touched: number }} StandingView */
/** @typedef {{ setting: string, text: string, since: number }} Weakened */
/** @typedef {{ id: string, protection: Protection, running: boolean, recording: boolean, mode: string, killSwitch: Switch | null, standings: StandingView[], weakened: Weakened[], weakenedMark: string, host: string, version: string, problems: string[] }} GatewayState */
/** @typedef {{ now: number, version: string, mayChange: boolean, gateways: GatewayState[], notes: string[] }} GatewayStatus */

export {};
