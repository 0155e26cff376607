-- What the guard did, and who writes here.

-- The gateways of this machine. `id` is what every other table calls a gateway: its name, made unlike any other's with a number.
-- `nonces`: where its held calls are kept. `seen`: when its engine last wrote. `audit_seq`: up to which line of its audit log
-- (`audit_first`: the hash of that log's first line) the events are in `toolguard_verdicts`. `raw_days`, `hourly_days`,
-- `daily_days`: how long it wants rows and sums kept.
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
    audit_first TEXT NOT NULL DEFAULT '',
    raw_days INTEGER NOT NULL DEFAULT 0,
    hourly_days INTEGER NOT NULL DEFAULT 0,
    daily_days INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- `kind`: what happened. `allow`, `malformed` and `loop` are told by the engine, every other is the `event` of a line of the audit
-- log, whose `id` and `time` are kept in `event` so that none is taken twice.
ALTER TABLE toolguard_verdicts ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE toolguard_verdicts ADD COLUMN event TEXT;
ALTER TABLE toolguard_verdicts ADD COLUMN nonce TEXT NOT NULL DEFAULT '';
ALTER TABLE toolguard_verdicts ADD COLUMN shown TEXT NOT NULL DEFAULT '';
ALTER TABLE toolguard_verdicts ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE toolguard_verdicts ADD COLUMN place TEXT NOT NULL DEFAULT '';

-- The feed shows what toolguard saw itself first, however much was imported.
CREATE INDEX toolguard_calls_own ON toolguard_calls (id) WHERE source = 1;

CREATE UNIQUE INDEX toolguard_verdicts_event ON toolguard_verdicts (event);
-- The feed shows what was not simply let through.
CREATE INDEX toolguard_verdicts_told ON toolguard_verdicts (id) WHERE kind <> 'allow';
CREATE INDEX toolguard_verdicts_kind ON toolguard_verdicts (kind) WHERE kind <> 'allow';
CREATE INDEX toolguard_verdicts_gateway ON toolguard_verdicts (gateway, kind) WHERE kind <> 'allow';

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

-- When something of the file was last done, like the clean-up of what is too old (`cleaned`). `raw`, `hours` and `days`: single
-- rows and sums from before this moment were removed.
CREATE TABLE toolguard_upkeep (
    name TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) WITHOUT ROWID;

-- The same sums by model alone and by agent alone: hours and days tell both at once, which is many rows to read where many
-- agents use many models. `length` is that of an hour or a day; `name` is of a model (`part` is `model`) or an agent (`agent`),
-- and of a channel (`channel`; of days only, kept as long as the sessions). Triggers keep them, so that they fit whoever writes,
-- imports and removes the others; a part is removed by a statement of its own, because with OR SQLite reads the whole table.
CREATE TABLE toolguard_parts (
    length INTEGER NOT NULL,
    part TEXT NOT NULL,
    at INTEGER NOT NULL,
    gateway TEXT NOT NULL,
    name TEXT NOT NULL,
    provider TEXT NOT NULL,
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
    PRIMARY KEY (length, part, at, gateway, name, provider)
) WITHOUT ROWID;

INSERT INTO toolguard_parts
SELECT 3600000, 'model', at, gateway, model, provider,
    total(calls), total(failed), total(input), total(output), total(cache_read), total(cache_write), total(total),
    total(priced), total(cost_usd), total(estimated_usd), total(timed), total(duration_ms)
FROM toolguard_hours GROUP BY at, gateway, model, provider;

INSERT INTO toolguard_parts
SELECT 3600000, 'agent', at, gateway, agent, '',
    total(calls), total(failed), total(input), total(output), total(cache_read), total(cache_write), total(total),
    total(priced), total(cost_usd), total(estimated_usd), total(timed), total(duration_ms)
FROM toolguard_hours GROUP BY at, gateway, agent;

INSERT INTO toolguard_parts
SELECT 86400000, 'model', at, gateway, model, provider,
    total(calls), total(failed), total(input), total(output), total(cache_read), total(cache_write), total(total),
    total(priced), total(cost_usd), total(estimated_usd), total(timed), total(duration_ms)
FROM toolguard_days GROUP BY at, gateway, model, provider;

INSERT INTO toolguard_parts
SELECT 86400000, 'agent', at, gateway, agent, '',
    total(calls), total(failed), total(input), total(output), total(cache_read), total(cache_write), total(total),
    total(priced), total(cost_usd), total(estimated_usd), total(timed), total(duration_ms)
FROM toolguard_days GROUP BY at, gateway, agent;

CREATE TRIGGER toolguard_hours_insert AFTER INSERT ON toolguard_hours BEGIN
    INSERT INTO toolguard_parts VALUES
        (3600000, 'model', NEW.at, NEW.gateway, NEW.model, NEW.provider,
        NEW.calls, NEW.failed, NEW.input, NEW.output, NEW.cache_read, NEW.cache_write, NEW.total, NEW.priced,
        NEW.cost_usd, NEW.estimated_usd, NEW.timed, NEW.duration_ms),
        (3600000, 'agent', NEW.at, NEW.gateway, NEW.agent, '',
        NEW.calls, NEW.failed, NEW.input, NEW.output, NEW.cache_read, NEW.cache_write, NEW.total, NEW.priced,
        NEW.cost_usd, NEW.estimated_usd, NEW.timed, NEW.duration_ms)
    ON CONFLICT (length, part, at, gateway, name, provider) DO UPDATE SET
        calls = calls + excluded.calls, failed = failed + excluded.failed, input = input + excluded.input,
        output = output + excluded.output, cache_read = cache_read + excluded.cache_read,
        cache_write = cache_write + excluded.cache_write, total = total + excluded.total,
        priced = priced + excluded.priced, cost_usd = cost_usd + excluded.cost_usd,
        estimated_usd = estimated_usd + excluded.estimated_usd, timed = timed + excluded.timed,
        duration_ms = duration_ms + excluded.duration_ms;
END;

CREATE TRIGGER toolguard_hours_update AFTER UPDATE ON toolguard_hours BEGIN
    INSERT INTO toolguard_parts VALUES
        (3600000, 'model', NEW.at, NEW.gateway, NEW.model, NEW.provider,
        NEW.calls - OLD.calls, NEW.failed - OLD.failed, NEW.input - OLD.input, NEW.output - OLD.output,
        NEW.cache_read - OLD.cache_read, NEW.cache_write - OLD.cache_write, NEW.total - OLD.total,
        NEW.priced - OLD.priced, NEW.cost_usd - OLD.cost_usd, NEW.estimated_usd - OLD.estimated_usd,
        NEW.timed - OLD.timed, NEW.duration_ms - OLD.duration_ms),
        (3600000, 'agent', NEW.at, NEW.gateway, NEW.agent, '',
        NEW.calls - OLD.calls, NEW.failed - OLD.failed, NEW.input - OLD.input, NEW.output - OLD.output,
        NEW.cache_read - OLD.cache_read, NEW.cache_write - OLD.cache_write, NEW.total - OLD.total,
        NEW.priced - OLD.priced, NEW.cost_usd - OLD.cost_usd, NEW.estimated_usd - OLD.estimated_usd,
        NEW.timed - OLD.timed, NEW.duration_ms - OLD.duration_ms)
    ON CONFLICT (length, part, at, gateway, name, provider) DO UPDATE SET
        calls = calls + excluded.calls, failed = failed + excluded.failed, input = input + excluded.input,
        output = output + excluded.output, cache_read = cache_read + excluded.cache_read,
        cache_write = cache_write + excluded.cache_write, total = total + excluded.total,
        priced = priced + excluded.priced, cost_usd = cost_usd + excluded.cost_usd,
        estimated_usd = estimated_usd + excluded.estimated_usd, timed = timed + excluded.timed,
        duration_ms = duration_ms + excluded.duration_ms;
END;

CREATE TRIGGER toolguard_hours_delete AFTER DELETE ON toolguard_hours BEGIN
    INSERT INTO toolguard_parts VALUES
        (3600000, 'model', OLD.at, OLD.gateway, OLD.model, OLD.provider,
        -OLD.calls, -OLD.failed, -OLD.input, -OLD.output, -OLD.cache_read, -OLD.cache_write, -OLD.total, -OLD.priced,
        -OLD.cost_usd, -OLD.estimated_usd, -OLD.timed, -OLD.duration_ms),
        (3600000, 'agent', OLD.at, OLD.gateway, OLD.agent, '',
        -OLD.calls, -OLD.failed, -OLD.input, -OLD.output, -OLD.cache_read, -OLD.cache_write, -OLD.total, -OLD.priced,
        -OLD.cost_usd, -OLD.estimated_usd, -OLD.timed, -OLD.duration_ms)
    ON CONFLICT (length, part, at, gateway, name, provider) DO UPDATE SET
        calls = calls + excluded.calls, failed = failed + excluded.failed, input = input + excluded.input,
        output = output + excluded.output, cache_read = cache_read + excluded.cache_read,
        cache_write = cache_write + excluded.cache_write, total = total + excluded.total,
        priced = priced + excluded.priced, cost_usd = cost_usd + excluded.cost_usd,
        estimated_usd = estimated_usd + excluded.estimated_usd, timed = timed + excluded.timed,
        duration_ms = duration_ms + excluded.duration_ms;
    DELETE FROM toolguard_parts WHERE length = 3600000 AND part = 'model' AND at = OLD.at AND gateway = OLD.gateway
        AND name = OLD.model AND provider = OLD.provider AND calls <= 0;
    DELETE FROM toolguard_parts WHERE length = 3600000 AND part = 'agent' AND at = OLD.at AND gateway = OLD.gateway
        AND name = OLD.agent AND provider = '' AND calls <= 0;
END;

CREATE TRIGGER toolguard_days_insert AFTER INSERT ON toolguard_days BEGIN
    INSERT INTO toolguard_parts VALUES
        (86400000, 'model', NEW.at, NEW.gateway, NEW.model, NEW.provider,
        NEW.calls, NEW.failed, NEW.input, NEW.output, NEW.cache_read, NEW.cache_write, NEW.total, NEW.priced,
        NEW.cost_usd, NEW.estimated_usd, NEW.timed, NEW.duration_ms),
        (86400000, 'agent', NEW.at, NEW.gateway, NEW.agent, '',
        NEW.calls, NEW.failed, NEW.input, NEW.output, NEW.cache_read, NEW.cache_write, NEW.total, NEW.priced,
        NEW.cost_usd, NEW.estimated_usd, NEW.timed, NEW.duration_ms)
    ON CONFLICT (length, part, at, gateway, name, provider) DO UPDATE SET
        calls = calls + excluded.calls, failed = failed + excluded.failed, input = input + excluded.input,
        output = output + excluded.output, cache_read = cache_read + excluded.cache_read,
        cache_write = cache_write + excluded.cache_write, total = total + excluded.total,
        priced = priced + excluded.priced, cost_usd = cost_usd + excluded.cost_usd,
        estimated_usd = estimated_usd + excluded.estimated_usd, timed = timed + excluded.timed,
        duration_ms = duration_ms + excluded.duration_ms;
END;

CREATE TRIGGER toolguard_days_update AFTER UPDATE ON toolguard_days BEGIN
    INSERT INTO toolguard_parts VALUES
        (86400000, 'model', NEW.at, NEW.gateway, NEW.model, NEW.provider,
        NEW.calls - OLD.calls, NEW.failed - OLD.failed, NEW.input - OLD.input, NEW.output - OLD.output,
        NEW.cache_read - OLD.cache_read, NEW.cache_write - OLD.cache_write, NEW.total - OLD.total,
        NEW.priced - OLD.priced, NEW.cost_usd - OLD.cost_usd, NEW.estimated_usd - OLD.estimated_usd,
        NEW.timed - OLD.timed, NEW.duration_ms - OLD.duration_ms),
        (86400000, 'agent', NEW.at, NEW.gateway, NEW.agent, '',
        NEW.calls - OLD.calls, NEW.failed - OLD.failed, NEW.input - OLD.input, NEW.output - OLD.output,
        NEW.cache_read - OLD.cache_read, NEW.cache_write - OLD.cache_write, NEW.total - OLD.total,
        NEW.priced - OLD.priced, NEW.cost_usd - OLD.cost_usd, NEW.estimated_usd - OLD.estimated_usd,
        NEW.timed - OLD.timed, NEW.duration_ms - OLD.duration_ms)
    ON CONFLICT (length, part, at, gateway, name, provider) DO UPDATE SET
        calls = calls + excluded.calls, failed = failed + excluded.failed, input = input + excluded.input,
        output = output + excluded.output, cache_read = cache_read + excluded.cache_read,
        cache_write = cache_write + excluded.cache_write, total = total + excluded.total,
        priced = priced + excluded.priced, cost_usd = cost_usd + excluded.cost_usd,
        estimated_usd = estimated_usd + excluded.estimated_usd, timed = timed + excluded.timed,
        duration_ms = duration_ms + excluded.duration_ms;
END;

CREATE TRIGGER toolguard_days_delete AFTER DELETE ON toolguard_days BEGIN
    INSERT INTO toolguard_parts VALUES
        (86400000, 'model', OLD.at, OLD.gateway, OLD.model, OLD.provider,
        -OLD.calls, -OLD.failed, -OLD.input, -OLD.output, -OLD.cache_read, -OLD.cache_write, -OLD.total, -OLD.priced,
        -OLD.cost_usd, -OLD.estimated_usd, -OLD.timed, -OLD.duration_ms),
        (86400000, 'agent', OLD.at, OLD.gateway, OLD.agent, '',
        -OLD.calls, -OLD.failed, -OLD.input, -OLD.output, -OLD.cache_read, -OLD.cache_write, -OLD.total, -OLD.priced,
        -OLD.cost_usd, -OLD.estimated_usd, -OLD.timed, -OLD.duration_ms)
    ON CONFLICT (length, part, at, gateway, name, provider) DO UPDATE SET
        calls = calls + excluded.calls, failed = failed + excluded.failed, input = input + excluded.input,
        output = output + excluded.output, cache_read = cache_read + excluded.cache_read,
        cache_write = cache_write + excluded.cache_write, total = total + excluded.total,
        priced = priced + excluded.priced, cost_usd = cost_usd + excluded.cost_usd,
        estimated_usd = estimated_usd + excluded.estimated_usd, timed = timed + excluded.timed,
        duration_ms = duration_ms + excluded.duration_ms;
    DELETE FROM toolguard_parts WHERE length = 86400000 AND part = 'model' AND at = OLD.at AND gateway = OLD.gateway
        AND name = OLD.model AND provider = OLD.provider AND calls <= 0;
    DELETE FROM toolguard_parts WHERE length = 86400000 AND part = 'agent' AND at = OLD.at AND gateway = OLD.gateway
        AND name = OLD.agent AND provider = '' AND calls <= 0;
END;

INSERT INTO toolguard_parts
SELECT 86400000, 'channel', at, gateway, channel, '',
    total(calls), total(failed), total(input), total(output), total(cache_read), total(cache_write), total(total),
    total(priced), total(cost_usd), total(estimated_usd), total(timed), total(duration_ms)
FROM toolguard_sessions GROUP BY at, gateway, channel;

CREATE TRIGGER toolguard_sessions_insert AFTER INSERT ON toolguard_sessions BEGIN
    INSERT INTO toolguard_parts VALUES
        (86400000, 'channel', NEW.at, NEW.gateway, NEW.channel, '',
        NEW.calls, NEW.failed, NEW.input, NEW.output, NEW.cache_read, NEW.cache_write, NEW.total, NEW.priced,
        NEW.cost_usd, NEW.estimated_usd, NEW.timed, NEW.duration_ms)
    ON CONFLICT (length, part, at, gateway, name, provider) DO UPDATE SET
        calls = calls + excluded.calls, failed = failed + excluded.failed, input = input + excluded.input,
        output = output + excluded.output, cache_read = cache_read + excluded.cache_read,
        cache_write = cache_write + excluded.cache_write, total = total + excluded.total,
        priced = priced + excluded.priced, cost_usd = cost_usd + excluded.cost_usd,
        estimated_usd = estimated_usd + excluded.estimated_usd, timed = timed + excluded.timed,
        duration_ms = duration_ms + excluded.duration_ms;
END;

CREATE TRIGGER toolguard_sessions_update AFTER UPDATE ON toolguard_sessions BEGIN
    INSERT INTO toolguard_parts VALUES
        (86400000, 'channel', NEW.at, NEW.gateway, NEW.channel, '',
        NEW.calls - OLD.calls, NEW.failed - OLD.failed, NEW.input - OLD.input, NEW.output - OLD.output,
        NEW.cache_read - OLD.cache_read, NEW.cache_write - OLD.cache_write, NEW.total - OLD.total,
        NEW.priced - OLD.priced, NEW.cost_usd - OLD.cost_usd, NEW.estimated_usd - OLD.estimated_usd,
        NEW.timed - OLD.timed, NEW.duration_ms - OLD.duration_ms)
    ON CONFLICT (length, part, at, gateway, name, provider) DO UPDATE SET
        calls = calls + excluded.calls, failed = failed + excluded.failed, input = input + excluded.input,
        output = output + excluded.output, cache_read = cache_read + excluded.cache_read,
        cache_write = cache_write + excluded.cache_write, total = total + excluded.total,
        priced = priced + excluded.priced, cost_usd = cost_usd + excluded.cost_usd,
        estimated_usd = estimated_usd + excluded.estimated_usd, timed = timed + excluded.timed,
        duration_ms = duration_ms + excluded.duration_ms;
END;

CREATE TRIGGER toolguard_sessions_delete AFTER DELETE ON toolguard_sessions BEGIN
    INSERT INTO toolguard_parts VALUES
        (86400000, 'channel', OLD.at, OLD.gateway, OLD.channel, '',
        -OLD.calls, -OLD.failed, -OLD.input, -OLD.output, -OLD.cache_read, -OLD.cache_write, -OLD.total, -OLD.priced,
        -OLD.cost_usd, -OLD.estimated_usd, -OLD.timed, -OLD.duration_ms)
    ON CONFLICT (length, part, at, gateway, name, provider) DO UPDATE SET
        calls = calls + excluded.calls, failed = failed + excluded.failed, input = input + excluded.input,
        output = output + excluded.output, cache_read = cache_read + excluded.cache_read,
        cache_write = cache_write + excluded.cache_write, total = total + excluded.total,
        priced = priced + excluded.priced, cost_usd = cost_usd + excluded.cost_usd,
        estimated_usd = estimated_usd + excluded.estimated_usd, timed = timed + excluded.timed,
        duration_ms = duration_ms + excluded.duration_ms;
    DELETE FROM toolguard_parts WHERE length = 86400000 AND part = 'channel' AND at = OLD.at AND gateway = OLD.gateway
        AND name = OLD.channel AND provider = '' AND calls <= 0;
END;
