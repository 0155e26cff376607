// The answers of the fleet dashboard's server, as `page_types.py` has them.

/**
 * @typedef {{ id: string, role: string, teams: string[], now: number, version: string, proxied: boolean }} FleetVisitor
 * @typedef {{ approver: string, verdict: string, at: number, why: string }} FleetDecision
 * @typedef {{ gateway: string, team: string, host: string, nonce: string, status: string, tool: string, agent: string,
 *   session: string, requester: string, code: string, reason: string, shown: string, whole: boolean, readable: boolean,
 *   cwd: string, would: string[], rules: string[], created: number, expires: number, decided: number, by: string,
 *   why: string, need: number, needTeams: string[], decisions: FleetDecision[], mayApprove: string[], may: boolean,
 *   command: string, rejected: string, view: import("./shapes.js").HeldView | null }} FleetCallView
 * @typedef {{ now: number, all: number, calls: FleetCallView[] }} FleetCalls
 * @typedef {{ id: string, host: string, name: string, created: number, line: string }} PasskeyView
 * @typedef {{ tool: string, agent: string, session: string, requester: string, reason: string, shown: string,
 *   whole: boolean, cwd: string, would: string[], rules: string[], view: import("./shapes.js").HeldView | null }} SignedCall
 * @typedef {{ call: SignedCall, body: string, challenge: string, host: string, passkeys: string[], digest: string,
 *   need: number, until: number }} SigningRequest
 * @typedef {{ team: string, kill: boolean, killWhy: string, killBy: string, killAt: number, policyVersion: number,
 *   gateways: number, waiting: number, yours: boolean }} TeamState
 * @typedef {{ id: string, team: string, state: string, host: string, version: string, silent: number,
 *   auditSilent: number | null, metricsSilent: number | null, forks: number, gaps: number, lines: number,
 *   waiting: number }} FleetGatewayState
 * @typedef {{ name: string, calls: number, failed: number, total: number, priced: number, costUsd: number,
 *   estimatedUsd: number }} FleetCost
 * @typedef {{ calls: number, total: number, priced: number, costUsd: number, estimatedUsd: number,
 *   verdicts: Record<string, number>, rows: FleetCost[] }} FleetCosts
 * @typedef {{ number: number, gateway: string, team: string, seq: number, stored: number, line: string }} AuditLineView
 * @typedef {{ table: string, keepDays: number, ahead: number | null, size: number, astray: number }} KeptPartitions
 * @typedef {{ version: number, known: number, server: string, size: number, connections: number, mostConnections: number,
 *   durable: boolean, standbys: boolean, partitions: KeptPartitions[] }} FleetHealth
 */

export {};
