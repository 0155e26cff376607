-- What the guard did, and who writes here.

-- The gateways of this machine. `id` is what every other table calls a gateway: its name, made unlike any other's with a number.
-- `nonces`: where its held calls are kept. `seen`: when its engine last wrote. `audit_seq`: up to which line of its audit log
-- (`audit_first`: the hash of that log's first line) the events are in `toolguard_verdicts`.
CREATE TABLE toolguard_gateways (
    id TEXT PRIMARY KEY,
    state_dir TEXT NOT NULL UNIQUE,
    config_path TEXT NOT NULL,
    nonces TEXT NOT NULL,
    host TEXT NOT NULL,
    version TEXT NOT NULL,
    mode TEXT NOT NULL,
    pid INTEGER NOT NULL,
    seen INTEGER NOT NULL,
    audit_seq INTEGER NOT NULL DEFAULT 0,
    audit_first TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;

-- `kind`: what happened. `allow`, `malformed` and `loop` are told by the engine, every other is the `event` of a line of the audit
-- log, whose `id` and `time` are kept in `event` so that none is taken twice.
ALTER TABLE toolguard_verdicts ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE toolguard_verdicts ADD COLUMN event TEXT;
ALTER TABLE toolguard_verdicts ADD COLUMN nonce TEXT NOT NULL DEFAULT '';
ALTER TABLE toolguard_verdicts ADD COLUMN shown TEXT NOT NULL DEFAULT '';
ALTER TABLE toolguard_verdicts ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE toolguard_verdicts ADD COLUMN place TEXT NOT NULL DEFAULT '';

CREATE UNIQUE INDEX toolguard_verdicts_event ON toolguard_verdicts (event);
-- The feed shows what was not simply let through.
CREATE INDEX toolguard_verdicts_told ON toolguard_verdicts (id) WHERE kind <> 'allow';

CREATE TABLE toolguard_verdict_hours (
    at INTEGER NOT NULL,
    gateway TEXT NOT NULL,
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    code TEXT NOT NULL,
    verdicts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (at, gateway, agent, kind, code)
) WITHOUT ROWID;

CREATE TABLE toolguard_verdict_days (
    at INTEGER NOT NULL,
    gateway TEXT NOT NULL,
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    code TEXT NOT NULL,
    verdicts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (at, gateway, agent, kind, code)
) WITHOUT ROWID;

-- Sums of calls by session and day: kept as long as the calls themselves.
CREATE TABLE toolguard_sessions (
    at INTEGER NOT NULL,
    gateway TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    channel TEXT NOT NULL,
    source INTEGER NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    input INTEGER NOT NULL DEFAULT 0,
    output INTEGER NOT NULL DEFAULT 0,
    cache_read INTEGER NOT NULL DEFAULT 0,
    cache_write INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    priced INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL NOT NULL DEFAULT 0,
    estimated_usd REAL NOT NULL DEFAULT 0,
    timed INTEGER NOT NULL DEFAULT 0,
    duration_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (at, gateway, session, agent, channel, source)
) WITHOUT ROWID;

INSERT INTO toolguard_sessions
SELECT at - at % 86400000 AS day, gateway, session, agent, channel, source,
    count(*), sum(outcome NOT IN ('', 'completed')),
    sum(input), sum(output), sum(cache_read), sum(cache_write), sum(total),
    count(cost_usd), total(cost_usd), total(cost_usd * cost_estimated), count(duration_ms), total(duration_ms)
FROM toolguard_calls GROUP BY day, gateway, session, agent, channel, source;

-- When something of the file was last done, like the clean-up of what is too old (`cleaned`).
CREATE TABLE toolguard_upkeep (
    name TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) WITHOUT ROWID;
