PRAGMA user_version = 0;
BEGIN TRANSACTION;
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
INSERT INTO "toolguard_calls" VALUES(1,1788696001807,'gw-recorded','main','agent:main:main','','anthropic','claude-sonnet-4-5',1000,200,0,0,1200,0.006,0,1200,'completed',1);
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
INSERT INTO "toolguard_days" VALUES(1788652800000,'gw-recorded','claude-sonnet-4-5','anthropic','main',1,1,0,1000,200,0,0,1200,1,0.006,0.0,1,1200);
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
INSERT INTO "toolguard_gateways" VALUES('gw-recorded','/srv/gateway/.openclaw','/srv/gateway/.openclaw/openclaw.json','/srv/gateway/.openclaw/toolguard/nonces.json','2026.9.6','0.1.0','enforce',14084,1788696009876,14,'5d05018a3d2b1e9f7d794d5959ba59d685c020951de337f071c4b162324987e7',30,90,365);
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
INSERT INTO "toolguard_hours" VALUES(1788696000000,'gw-recorded','claude-sonnet-4-5','anthropic','main',1,1,0,1000,200,0,0,1200,1,0.006,0.0,1,1200);
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
INSERT INTO "toolguard_parts" VALUES(3600000,'agent',1788696000000,'gw-recorded','main','',1,0,1000,200,0,0,1200,1,0.006,0.0,1,1200);
INSERT INTO "toolguard_parts" VALUES(3600000,'model',1788696000000,'gw-recorded','claude-sonnet-4-5','anthropic',1,0,1000,200,0,0,1200,1,0.006,0.0,1,1200);
INSERT INTO "toolguard_parts" VALUES(86400000,'agent',1788652800000,'gw-recorded','main','',1,0,1000,200,0,0,1200,1,0.006,0.0,1,1200);
INSERT INTO "toolguard_parts" VALUES(86400000,'channel',1788652800000,'gw-recorded','','',1,0,1000,200,0,0,1200,1,0.006,0.0,1,1200);
INSERT INTO "toolguard_parts" VALUES(86400000,'model',1788652800000,'gw-recorded','claude-sonnet-4-5','anthropic',1,0,1000,200,0,0,1200,1,0.006,0.0,1,1200);
CREATE TABLE toolguard_schema (
    version INTEGER PRIMARY KEY,
    applied_at INTEGER NOT NULL
);
INSERT INTO "toolguard_schema" VALUES(1,1788696001478);
INSERT INTO "toolguard_schema" VALUES(2,1788696001493);
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
INSERT INTO "toolguard_sessions" VALUES(1788652800000,'gw-recorded','agent:main:main','main','',1,1,0,1000,200,0,0,1200,1,0.006,0.0,1,1200);
CREATE TABLE toolguard_sources (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    made TEXT,
    last_event INTEGER NOT NULL DEFAULT 0,
    since INTEGER NOT NULL DEFAULT 0
);
INSERT INTO "toolguard_sources" VALUES(1,'toolguard','',0,0);
CREATE TABLE toolguard_taken (
    source INTEGER NOT NULL,
    event INTEGER NOT NULL,
    mark INTEGER NOT NULL,
    PRIMARY KEY (source, event)
) WITHOUT ROWID;
CREATE TABLE toolguard_upkeep (
    name TEXT PRIMARY KEY,
    at INTEGER NOT NULL
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
INSERT INTO "toolguard_verdict_days" VALUES(1788652800000,'gw-recorded','','grant','',1);
INSERT INTO "toolguard_verdict_days" VALUES(1788652800000,'gw-recorded','','kill-switch','kill-switch.on',1);
INSERT INTO "toolguard_verdict_days" VALUES(1788652800000,'gw-recorded','main','allow','allow',4);
INSERT INTO "toolguard_verdict_days" VALUES(1788652800000,'gw-recorded','main','approve','approval.always-block',2);
INSERT INTO "toolguard_verdict_days" VALUES(1788652800000,'gw-recorded','main','block','constraint.no-prod-writes',1);
INSERT INTO "toolguard_verdict_days" VALUES(1788652800000,'gw-recorded','main','block','kill-switch.on',1);
INSERT INTO "toolguard_verdict_days" VALUES(1788652800000,'gw-recorded','main','consume','approval.always-block',1);
INSERT INTO "toolguard_verdict_days" VALUES(1788652800000,'gw-recorded','main','deny','approval.always-block',1);
INSERT INTO "toolguard_verdict_days" VALUES(1788652800000,'gw-recorded','main','grant','',1);
INSERT INTO "toolguard_verdict_days" VALUES(1788652800000,'gw-recorded','main','hold','approval.always-block',4);
INSERT INTO "toolguard_verdict_days" VALUES(1788652800000,'gw-recorded','main','malformed','malformed.validation',1);
INSERT INTO "toolguard_verdict_days" VALUES(1788652800000,'gw-recorded','main','stop','kill-switch.on',1);
CREATE TABLE toolguard_verdict_hours (
    at INTEGER NOT NULL,
    gateway TEXT NOT NULL,
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    code TEXT NOT NULL,
    verdicts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (at, gateway, agent, kind, code)
) WITHOUT ROWID;
INSERT INTO "toolguard_verdict_hours" VALUES(1788696000000,'gw-recorded','','grant','',1);
INSERT INTO "toolguard_verdict_hours" VALUES(1788696000000,'gw-recorded','','kill-switch','kill-switch.on',1);
INSERT INTO "toolguard_verdict_hours" VALUES(1788696000000,'gw-recorded','main','allow','allow',4);
INSERT INTO "toolguard_verdict_hours" VALUES(1788696000000,'gw-recorded','main','approve','approval.always-block',2);
INSERT INTO "toolguard_verdict_hours" VALUES(1788696000000,'gw-recorded','main','block','constraint.no-prod-writes',1);
INSERT INTO "toolguard_verdict_hours" VALUES(1788696000000,'gw-recorded','main','block','kill-switch.on',1);
INSERT INTO "toolguard_verdict_hours" VALUES(1788696000000,'gw-recorded','main','consume','approval.always-block',1);
INSERT INTO "toolguard_verdict_hours" VALUES(1788696000000,'gw-recorded','main','deny','approval.always-block',1);
INSERT INTO "toolguard_verdict_hours" VALUES(1788696000000,'gw-recorded','main','grant','',1);
INSERT INTO "toolguard_verdict_hours" VALUES(1788696000000,'gw-recorded','main','hold','approval.always-block',4);
INSERT INTO "toolguard_verdict_hours" VALUES(1788696000000,'gw-recorded','main','malformed','malformed.validation',1);
INSERT INTO "toolguard_verdict_hours" VALUES(1788696000000,'gw-recorded','main','stop','kill-switch.on',1);
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
, kind TEXT NOT NULL DEFAULT '', event TEXT, nonce TEXT NOT NULL DEFAULT '', shown TEXT NOT NULL DEFAULT '', person TEXT NOT NULL DEFAULT '', place TEXT NOT NULL DEFAULT '');
INSERT INTO "toolguard_verdicts" VALUES(1,1788696001769,'gw-recorded','main','agent:main:main','run-5','note_down','allow','allow','','allow',NULL,'','','','');
INSERT INTO "toolguard_verdicts" VALUES(2,1788696001805,'gw-recorded','main','agent:main:main','run-6','note_down','allow','allow','','allow',NULL,'','','','');
INSERT INTO "toolguard_verdicts" VALUES(3,1788696001806,'gw-recorded','main','agent:main:main','run-7','note_down','allow','allow','','allow',NULL,'','','','');
INSERT INTO "toolguard_verdicts" VALUES(4,1788696001807,'gw-recorded','main','agent:main:main','run-90','read','block','malformed.validation','path: is missing','malformed',NULL,'','read({})','','');
INSERT INTO "toolguard_verdicts" VALUES(5,1788696001653,'gw-recorded','main','agent:main:main','run-1','deploy','hold','approval.always-block','The settings ask for a person''s approval of every call of this tool (alwaysBlock).','hold','47faa24f-hold 2026-09-06T12:00:01.653Z','47faa24f','deploy({ target: "pending" })','','');
INSERT INTO "toolguard_verdicts" VALUES(6,1788696001673,'gw-recorded','main','agent:main:main','run-2','deploy','hold','approval.always-block','The settings ask for a person''s approval of every call of this tool (alwaysBlock).','hold','5b58608a-hold 2026-09-06T12:00:01.673Z','5b58608a','deploy({ target: "approved" })','','');
INSERT INTO "toolguard_verdicts" VALUES(7,1788696001709,'gw-recorded','main','agent:main:main','run-3','deploy','hold','approval.always-block','The settings ask for a person''s approval of every call of this tool (alwaysBlock).','hold','1d2f15fa-hold 2026-09-06T12:00:01.709Z','1d2f15fa','deploy({ target: "denied" })','','');
INSERT INTO "toolguard_verdicts" VALUES(8,1788696001737,'gw-recorded','main','agent:main:main','run-4','deploy','hold','approval.always-block','The settings ask for a person''s approval of every call of this tool (alwaysBlock).','hold','12491131-hold 2026-09-06T12:00:01.737Z','12491131','deploy({ target: "used" })','','');
INSERT INTO "toolguard_verdicts" VALUES(9,1788696002492,'gw-recorded','main','agent:main:main','run-4','deploy','allow','approval.always-block','The settings ask for a person''s approval of every call of this tool (alwaysBlock).','approve','12491131-approve 2026-09-06T12:00:02.492Z','12491131','deploy({ target: "used" })','root','cli');
INSERT INTO "toolguard_verdicts" VALUES(10,1788696003143,'gw-recorded','main','agent:main:main','run-2','deploy','allow','approval.always-block','The settings ask for a person''s approval of every call of this tool (alwaysBlock).','approve','5b58608a-approve 2026-09-06T12:00:03.143Z','5b58608a','deploy({ target: "approved" })','root','cli');
INSERT INTO "toolguard_verdicts" VALUES(11,1788696003911,'gw-recorded','main','agent:main:main','run-3','deploy','block','approval.always-block','The settings ask for a person''s approval of every call of this tool (alwaysBlock).','deny','1d2f15fa-deny 2026-09-06T12:00:03.911Z','1d2f15fa','deploy({ target: "denied" })','root','cli');
INSERT INTO "toolguard_verdicts" VALUES(12,1788696004175,'gw-recorded','main','agent:main:main','run-4','deploy','allow','approval.always-block','The settings ask for a person''s approval of every call of this tool (alwaysBlock).','consume','12491131-consume 2026-09-06T12:00:04.175Z','12491131','deploy({ target: "used" })','root','cli');
INSERT INTO "toolguard_verdicts" VALUES(13,1788696005082,'gw-recorded','main','','','exec','allow','','g-be38, until revoked','grant','g-be38-grant-f6504b15 2026-09-06T12:00:05.082Z','','agent main may call exec like `make *`, without asking','root','cli');
INSERT INTO "toolguard_verdicts" VALUES(14,1788696007085,'gw-recorded','','','','write','allow','','g-54af, until 2026-09-13T12:00:06.000Z','grant','g-54af-grant-f5c8db61 2026-09-06T12:00:07.085Z','','any agent may call write like `docs/**`, without asking','root','cli');
INSERT INTO "toolguard_verdicts" VALUES(15,1788696009687,'gw-recorded','main','agent:main:main','run-9','note_down','allow','allow','','allow',NULL,'','','','');
INSERT INTO "toolguard_verdicts" VALUES(16,1788696010996,'gw-recorded','main','agent:main:main','run-10','write','block','constraint.no-prod-writes','Production is changed by people only.','block','add55f9e3e888c4a 2026-09-06T12:00:10.996Z','','write({ path: "/srv/prod/index.html", content: "x" })','','');
INSERT INTO "toolguard_verdicts" VALUES(17,1788696016390,'gw-recorded','','','','','allow','kill-switch.on','no tool call runs until it is switched off','kill-switch','ba44f66212e55933 2026-09-06T12:00:16.390Z','','','root','cli');
INSERT INTO "toolguard_verdicts" VALUES(18,1788696018213,'gw-recorded','main','agent:main:main','run-2','note_down','block','kill-switch.on','a person looks into it (by root)','block','d70acdb417625501 2026-09-06T12:00:18.213Z','','note_down({ text: "stopped" })','','');
INSERT INTO "toolguard_verdicts" VALUES(19,1788696018213,'gw-recorded','main','agent:main:main','run-2','note_down','block','kill-switch.on','a person looks into it (by root)','stop','85d1bbdf6b5d7de4 2026-09-06T12:00:18.213Z','','note_down({ text: "stopped" })','','');
CREATE INDEX toolguard_calls_at ON toolguard_calls (at);
CREATE INDEX toolguard_verdicts_at ON toolguard_verdicts (at);
CREATE INDEX toolguard_calls_own ON toolguard_calls (id) WHERE source = 1;
CREATE UNIQUE INDEX toolguard_verdicts_event ON toolguard_verdicts (event);
CREATE INDEX toolguard_verdicts_told ON toolguard_verdicts (id) WHERE kind <> 'allow';
CREATE INDEX toolguard_verdicts_kind ON toolguard_verdicts (kind) WHERE kind <> 'allow';
CREATE INDEX toolguard_verdicts_gateway ON toolguard_verdicts (gateway, kind) WHERE kind <> 'allow';
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
COMMIT;
