-- What the agents did and cost. Every name begins with `toolguard_`: the plugin that toolguard replaces keeps its own tables
-- in the same file. Times are milliseconds since 1970, UTC. An empty text is a name that nobody told.
-- Explicit integer keys: the old plugin runs VACUUM, which renumbers any other.

-- The versions of this schema that the file has been through: one file of SQL each.
CREATE TABLE toolguard_schema (
    version INTEGER PRIMARY KEY,
    applied_at INTEGER NOT NULL
);

-- Who told: 1 is toolguard itself, every other is one imported database. `made` is when it was made, as it says itself; that
-- does not tell databases apart, and is NULL while what came from one is being removed. `last_event` is the last of its events
-- that was taken. `since` is not 0 where it is a copy of another that went on by itself: when that was.
CREATE TABLE toolguard_sources (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    made TEXT,
    last_event INTEGER NOT NULL DEFAULT 0,
    since INTEGER NOT NULL DEFAULT 0
);

INSERT INTO toolguard_sources (id, kind, made) VALUES (1, 'toolguard', '');

-- The events of imported databases that were taken, by their ids there: a database that is met again is known by them. `mark`
-- is made of all that the event says.
CREATE TABLE toolguard_taken (
    source INTEGER NOT NULL,
    event INTEGER NOT NULL,
    mark INTEGER NOT NULL,
    PRIMARY KEY (source, event)
) WITHOUT ROWID;

-- One model call. `cost_usd` is NULL where nobody knows it; `cost_estimated` is 1 where it comes from our own price table.
CREATE TABLE toolguard_calls (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    gateway TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    channel TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    total INTEGER NOT NULL,
    cost_usd REAL,
    cost_estimated INTEGER NOT NULL,
    duration_ms INTEGER,
    outcome TEXT NOT NULL,
    source INTEGER NOT NULL
);

CREATE INDEX toolguard_calls_at ON toolguard_calls (at);

-- One verdict on one tool call.
CREATE TABLE toolguard_verdicts (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    gateway TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    run TEXT NOT NULL,
    tool TEXT NOT NULL,
    decision TEXT NOT NULL,
    code TEXT NOT NULL,
    reason TEXT NOT NULL
);

CREATE INDEX toolguard_verdicts_at ON toolguard_verdicts (at);

-- Sums of calls by hour and by day (`at` is where it begins). They outlive the calls: nothing is ever taken from them when
-- old calls are removed. `failed`: calls with another outcome than `completed`; `priced`: calls whose cost is known;
-- `estimated_usd`: the part of `cost_usd` that is an estimate; `timed`: calls whose duration is known.
CREATE TABLE toolguard_hours (
    at INTEGER NOT NULL,
    gateway TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    agent TEXT NOT NULL,
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
    PRIMARY KEY (at, gateway, model, provider, agent, source)
) WITHOUT ROWID;

CREATE TABLE toolguard_days (
    at INTEGER NOT NULL,
    gateway TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    agent TEXT NOT NULL,
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
    PRIMARY KEY (at, gateway, model, provider, agent, source)
) WITHOUT ROWID;
