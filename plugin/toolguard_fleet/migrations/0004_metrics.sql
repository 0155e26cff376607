-- What the agents of all gateways did and cost: rows as the gateways' own metrics files have them, and sums by hour and day.
--
-- A stream is one metrics file of one gateway, and `seq` its row number there. `record` takes each row once: the rows of a
-- stream arrive in order, and `metric_head` names the last one. In the same transaction the rows of a batch are summed into
-- `call_part` and `verdict_part`, which are only inserted into. `sum_up` moves these parts into the hours and days: one
-- session at a time, in one transaction, so a row is counted once, however late it arrives and whoever is killed.
-- `day` is the day (UTC, the server's clock) on which a row was stored; `at` is the gateway's clock.

CREATE TABLE fleet.metric_head (
    gateway text NOT NULL REFERENCES fleet.gateway (id),
    stream text NOT NULL CHECK (stream ~ '^[0-9a-f]{16}$'),
    calls bigint NOT NULL DEFAULT 0,
    verdicts bigint NOT NULL DEFAULT 0,
    stored timestamptz NOT NULL,
    source integer GENERATED ALWAYS AS IDENTITY UNIQUE,
    PRIMARY KEY (gateway, stream)
);

-- `source` stands for the gateway and the stream (`metric_head`).
CREATE TABLE fleet.call (
    day date NOT NULL,
    source integer NOT NULL,
    seq bigint NOT NULL,
    at timestamptz NOT NULL,
    agent text NOT NULL,
    session text NOT NULL,
    channel text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    input integer NOT NULL,
    output integer NOT NULL,
    cache_read integer NOT NULL,
    cache_write integer NOT NULL,
    total integer NOT NULL,
    cost_usd numeric,
    estimated boolean NOT NULL,
    duration_ms integer,
    outcome text NOT NULL,
    PRIMARY KEY (source, seq, day)
) PARTITION BY RANGE (day);
CREATE TABLE fleet.call_default PARTITION OF fleet.call DEFAULT;
CREATE INDEX call_at ON fleet.call USING brin (at);

-- What the guard and persons decided, without `allow` and without the text of the call: the audit log has that.
CREATE TABLE fleet.verdict (
    day date NOT NULL,
    source integer NOT NULL,
    seq bigint NOT NULL,
    at timestamptz NOT NULL,
    agent text NOT NULL,
    session text NOT NULL,
    run text NOT NULL,
    tool text NOT NULL,
    decision text NOT NULL,
    code text NOT NULL,
    kind text NOT NULL,
    nonce text NOT NULL,
    person text NOT NULL,
    place text NOT NULL,
    PRIMARY KEY (source, seq, day)
) PARTITION BY RANGE (day);
CREATE TABLE fleet.verdict_default PARTITION OF fleet.verdict DEFAULT;
CREATE INDEX verdict_at ON fleet.verdict USING brin (at);
INSERT INTO fleet.retention (table_name, keep_days) VALUES ('call', 7), ('verdict', 30);

-- Sums of calls: of batches (`call_part`), then by hour and by day (`at`: where it begins). `failed`: with another outcome than
-- `completed`; `priced`: with a known cost; `estimated_usd`: the part of `cost_usd` from the gateway's own price table;
-- `timed`: with a known duration. Money is exact.
CREATE TABLE fleet.hour (
    at timestamptz NOT NULL,
    gateway text NOT NULL,
    agent text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    calls bigint NOT NULL,
    failed bigint NOT NULL,
    input bigint NOT NULL,
    output bigint NOT NULL,
    cache_read bigint NOT NULL,
    cache_write bigint NOT NULL,
    total bigint NOT NULL,
    priced bigint NOT NULL,
    cost_usd numeric NOT NULL,
    estimated_usd numeric NOT NULL,
    timed bigint NOT NULL,
    duration_ms bigint NOT NULL,
    PRIMARY KEY (at, gateway, agent, provider, model)
) WITH (fillfactor = 70);
CREATE TABLE fleet.day (LIKE fleet.hour INCLUDING ALL) WITH (fillfactor = 70);
CREATE TABLE fleet.call_part (LIKE fleet.hour, number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);

CREATE TABLE fleet.verdict_hour (
    at timestamptz NOT NULL,
    gateway text NOT NULL,
    agent text NOT NULL,
    kind text NOT NULL,
    code text NOT NULL,
    verdicts bigint NOT NULL,
    PRIMARY KEY (at, gateway, agent, kind, code)
) WITH (fillfactor = 70);
CREATE TABLE fleet.verdict_day (LIKE fleet.verdict_hour INCLUDING ALL) WITH (fillfactor = 70);
CREATE TABLE fleet.verdict_part (LIKE fleet.verdict_hour, number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);

-- One row: when the parts are to be summed next, and how long sums are kept. Who locks it is the leader, until it commits.
CREATE TABLE fleet.summing (
    due timestamptz NOT NULL DEFAULT clock_timestamp(),
    hour_days integer NOT NULL DEFAULT 90 CHECK (hour_days BETWEEN 2 AND 3660),
    day_days integer NOT NULL DEFAULT 800 CHECK (day_days BETWEEN 2 AND 3660)
);
INSERT INTO fleet.summing DEFAULT VALUES;

-- The agents' standings as their gateways last sent them, for display. `touched` is the gateway's clock.
CREATE TABLE fleet.standing (
    gateway text NOT NULL REFERENCES fleet.gateway (id),
    agent text NOT NULL,
    session text NOT NULL,
    trust double precision NOT NULL,
    spent double precision NOT NULL,
    warnings bigint NOT NULL,
    checkpoints bigint NOT NULL,
    touched timestamptz NOT NULL,
    stored timestamptz NOT NULL,
    PRIMARY KEY (gateway, agent, session)
) WITH (fillfactor = 70);

-- Gateways ----------------------------------------------------------------------------------------------------------

-- A time of a gateway's clock (milliseconds since 1970). One that cannot be right counts as now.
CREATE FUNCTION fleet.plausible(p_ms bigint, p_now timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT CASE WHEN p_ms BETWEEN 946684800000 AND extract(epoch FROM p_now) * 1000 + 86400000
        THEN timestamptz 'epoch' + p_ms * interval '1 millisecond' ELSE p_now END
$$;

-- The last rows of this stream that are stored: {calls, verdicts}.
CREATE FUNCTION fleet.record_head(p_gateway text, p_token bytea, p_stream text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    PERFORM fleet.gateway_of(p_gateway, p_token);
    RETURN coalesce((
        SELECT jsonb_build_object('calls', calls, 'verdicts', verdicts) FROM fleet.metric_head
        WHERE gateway = p_gateway AND stream = p_stream
    ), '{"calls": 0, "verdicts": 0}');
END $$;

-- p_rows: {stream, calls: [{seq, at, ...}], verdicts: [{seq, at, ...}]}, at most 1,000 of each, by rising seq. Rows that are
-- stored already are left out. {calls, verdicts}: the last rows that are stored.
CREATE FUNCTION fleet.record(p_gateway text, p_token bytea, p_rows jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_stream text := p_rows ->> 'stream';
    v_calls jsonb := coalesce(p_rows -> 'calls', '[]');
    v_verdicts jsonb := coalesce(p_rows -> 'verdicts', '[]');
    v_head fleet.metric_head;
    v_now timestamptz := clock_timestamp();
BEGIN
    PERFORM fleet.gateway_of(p_gateway, p_token);
    IF v_stream IS NULL OR v_stream !~ '^[0-9a-f]{16}$' OR jsonb_typeof(v_calls) <> 'array'
        OR jsonb_typeof(v_verdicts) <> 'array' OR jsonb_array_length(v_calls) > 1000 OR jsonb_array_length(v_verdicts) > 1000
    THEN
        RAISE EXCEPTION 'a stream and at most 1,000 calls and verdicts are needed' USING ERRCODE = '22023';
    END IF;
    SELECT * INTO v_head FROM fleet.metric_head WHERE gateway = p_gateway AND stream = v_stream FOR UPDATE;
    IF NOT FOUND THEN
        IF (SELECT count(*) FROM fleet.metric_head WHERE gateway = p_gateway) >= 1000 THEN
            RAISE EXCEPTION 'this gateway has 1,000 metrics files already' USING ERRCODE = '54000';
        END IF;
        INSERT INTO fleet.metric_head (gateway, stream, stored) VALUES (p_gateway, v_stream, v_now) ON CONFLICT DO NOTHING;
        SELECT * INTO v_head FROM fleet.metric_head WHERE gateway = p_gateway AND stream = v_stream FOR UPDATE;
    END IF;
    v_head.calls := fleet.record_calls(v_head, v_calls, v_now);
    v_head.verdicts := fleet.record_verdicts(v_head, v_verdicts, v_now);
    UPDATE fleet.metric_head SET calls = v_head.calls, verdicts = v_head.verdicts, stored = v_now
    WHERE gateway = p_gateway AND stream = v_stream;
    RETURN jsonb_build_object('calls', v_head.calls, 'verdicts', v_head.verdicts);
END $$;

CREATE FUNCTION fleet.record_calls(p_head fleet.metric_head, p_rows jsonb, p_now timestamptz) RETURNS bigint
LANGUAGE sql SET search_path = pg_catalog, fleet, pg_temp AS $$
    WITH added AS (
        INSERT INTO fleet.call
        SELECT (p_now AT TIME ZONE 'UTC')::date, p_head.source, seq, fleet.plausible(at, p_now),
            left(agent, 200), left(session, 200), left(channel, 200), left(provider, 200), left(model, 200),
            greatest(input, 0), greatest(output, 0), greatest(cache_read, 0), greatest(cache_write, 0), greatest(total, 0),
            CASE WHEN cost_usd BETWEEN 0 AND 1000000 THEN cost_usd END, coalesce(estimated, false),
            greatest(duration_ms, 0), left(outcome, 200)
        FROM jsonb_to_recordset(p_rows) AS given (
            seq bigint, at bigint, agent text, session text, channel text, provider text, model text, input integer,
            output integer, cache_read integer, cache_write integer, total integer, cost_usd numeric, estimated boolean,
            duration_ms integer, outcome text)
        WHERE seq > p_head.calls
        RETURNING *
    ), summed AS (
        INSERT INTO fleet.call_part (at, gateway, agent, provider, model, calls, failed, input, output, cache_read,
            cache_write, total, priced, cost_usd, estimated_usd, timed, duration_ms)
        SELECT date_trunc('hour', at, 'UTC'), p_head.gateway, agent, provider, model, count(*),
            count(*) FILTER (WHERE outcome NOT IN ('', 'completed')), sum(input), sum(output), sum(cache_read),
            sum(cache_write), sum(total), count(cost_usd), coalesce(sum(cost_usd), 0),
            coalesce(sum(cost_usd) FILTER (WHERE estimated), 0), count(duration_ms), coalesce(sum(duration_ms), 0)
        FROM added GROUP BY 1, agent, provider, model
    )
    SELECT coalesce(max(seq), p_head.calls) FROM added
$$;

CREATE FUNCTION fleet.record_verdicts(p_head fleet.metric_head, p_rows jsonb, p_now timestamptz) RETURNS bigint
LANGUAGE sql SET search_path = pg_catalog, fleet, pg_temp AS $$
    WITH added AS (
        INSERT INTO fleet.verdict
        SELECT (p_now AT TIME ZONE 'UTC')::date, p_head.source, seq, fleet.plausible(at, p_now),
            left(agent, 200), left(session, 200), left(run, 200), left(tool, 200), left(decision, 200), left(code, 200),
            left(kind, 200), left(nonce, 200), left(person, 200), left(place, 200)
        FROM jsonb_to_recordset(p_rows) AS given (
            seq bigint, at bigint, agent text, session text, run text, tool text, decision text, code text, kind text,
            nonce text, person text, place text)
        WHERE seq > p_head.verdicts AND kind <> 'allow'
        RETURNING *
    ), summed AS (
        INSERT INTO fleet.verdict_part (at, gateway, agent, kind, code, verdicts)
        SELECT date_trunc('hour', at, 'UTC'), p_head.gateway, agent, kind, code, count(*)
        FROM added GROUP BY 1, agent, kind, code
    )
    SELECT coalesce(max(seq), p_head.verdicts) FROM added
$$;

-- Moves at most p_most parts of calls, and of verdicts, into the sums, the oldest first; how many it moved.
CREATE FUNCTION fleet.move_parts(p_most integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_calls bigint;
    v_verdicts bigint;
BEGIN
    WITH taken AS (
        DELETE FROM fleet.call_part WHERE number IN (SELECT number FROM fleet.call_part ORDER BY number LIMIT p_most)
        RETURNING *
    ), hours AS (
        INSERT INTO fleet.hour AS known
        SELECT at, gateway, agent, provider, model, sum(calls), sum(failed), sum(input), sum(output), sum(cache_read),
            sum(cache_write), sum(total), sum(priced), sum(cost_usd), sum(estimated_usd), sum(timed), sum(duration_ms)
        FROM taken GROUP BY 1, 2, 3, 4, 5
        ON CONFLICT (at, gateway, agent, provider, model) DO UPDATE SET
            calls = known.calls + excluded.calls, failed = known.failed + excluded.failed,
            input = known.input + excluded.input, output = known.output + excluded.output,
            cache_read = known.cache_read + excluded.cache_read, cache_write = known.cache_write + excluded.cache_write,
            total = known.total + excluded.total, priced = known.priced + excluded.priced,
            cost_usd = known.cost_usd + excluded.cost_usd, estimated_usd = known.estimated_usd + excluded.estimated_usd,
            timed = known.timed + excluded.timed, duration_ms = known.duration_ms + excluded.duration_ms
    ), days AS (
        INSERT INTO fleet.day AS known
        SELECT date_trunc('day', at, 'UTC'), gateway, agent, provider, model, sum(calls), sum(failed), sum(input),
            sum(output), sum(cache_read), sum(cache_write), sum(total), sum(priced), sum(cost_usd), sum(estimated_usd),
            sum(timed), sum(duration_ms)
        FROM taken GROUP BY 1, 2, 3, 4, 5
        ON CONFLICT (at, gateway, agent, provider, model) DO UPDATE SET
            calls = known.calls + excluded.calls, failed = known.failed + excluded.failed,
            input = known.input + excluded.input, output = known.output + excluded.output,
            cache_read = known.cache_read + excluded.cache_read, cache_write = known.cache_write + excluded.cache_write,
            total = known.total + excluded.total, priced = known.priced + excluded.priced,
            cost_usd = known.cost_usd + excluded.cost_usd, estimated_usd = known.estimated_usd + excluded.estimated_usd,
            timed = known.timed + excluded.timed, duration_ms = known.duration_ms + excluded.duration_ms
    )
    SELECT count(*) INTO v_calls FROM taken;
    WITH taken AS (
        DELETE FROM fleet.verdict_part WHERE number IN (SELECT number FROM fleet.verdict_part ORDER BY number LIMIT p_most)
        RETURNING *
    ), hours AS (
        INSERT INTO fleet.verdict_hour AS known
        SELECT at, gateway, agent, kind, code, sum(verdicts) FROM taken GROUP BY 1, 2, 3, 4, 5
        ON CONFLICT (at, gateway, agent, kind, code) DO UPDATE SET verdicts = known.verdicts + excluded.verdicts
    ), days AS (
        INSERT INTO fleet.verdict_day AS known
        SELECT date_trunc('day', at, 'UTC'), gateway, agent, kind, code, sum(verdicts) FROM taken GROUP BY 1, 2, 3, 4, 5
        ON CONFLICT (at, gateway, agent, kind, code) DO UPDATE SET verdicts = known.verdicts + excluded.verdicts
    )
    SELECT count(*) INTO v_verdicts FROM taken;
    RETURN v_calls + v_verdicts;
END $$;

-- Any gateway may call this; once a minute one of them leads and does the work. {led, moved, more}.
CREATE FUNCTION fleet.sum_up(p_gateway text, p_token bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_most CONSTANT integer := 5000;
    v_moved bigint;
BEGIN
    PERFORM fleet.gateway_of(p_gateway, p_token);
    PERFORM FROM fleet.summing WHERE due <= clock_timestamp() FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN '{"led": false, "moved": 0, "more": false}';
    END IF;
    v_moved := fleet.move_parts(v_most);
    UPDATE fleet.summing
    SET due = clock_timestamp() + CASE WHEN v_moved < v_most THEN interval '1 minute' ELSE interval '0' END;
    RETURN jsonb_build_object('led', true, 'moved', v_moved, 'more', v_moved >= v_most);
END $$;

-- p_rows: [{agent, session, trust, spent, warnings, checkpoints, touched}], at most 500; they replace what is known of them.
CREATE FUNCTION fleet.record_standings(p_gateway text, p_token bytea, p_rows jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    PERFORM fleet.gateway_of(p_gateway, p_token);
    IF jsonb_typeof(p_rows) IS DISTINCT FROM 'array' OR jsonb_array_length(p_rows) > 500 THEN
        RAISE EXCEPTION 'at most 500 standings are taken' USING ERRCODE = '22023';
    END IF;
    INSERT INTO fleet.standing
    SELECT DISTINCT ON (left(agent, 200), left(session, 200)) p_gateway, left(agent, 200), left(session, 200),
        least(greatest(trust, 0), 1), greatest(spent, 0), greatest(warnings, 0), greatest(checkpoints, 0),
        fleet.plausible(touched, v_now), v_now
    FROM jsonb_to_recordset(p_rows) AS given (
        agent text, session text, trust double precision, spent double precision, warnings bigint, checkpoints bigint,
        touched bigint)
    ORDER BY left(agent, 200), left(session, 200), touched DESC
    ON CONFLICT (gateway, agent, session) DO UPDATE SET trust = excluded.trust, spent = excluded.spent,
        warnings = excluded.warnings, checkpoints = excluded.checkpoints, touched = excluded.touched,
        stored = excluded.stored;
    DELETE FROM fleet.standing WHERE (gateway, agent, session) IN (
        SELECT gateway, agent, session FROM fleet.standing WHERE gateway = p_gateway
        ORDER BY touched DESC, agent, session OFFSET 1000);
END $$;

GRANT EXECUTE ON FUNCTION fleet.record_head, fleet.record, fleet.sum_up, fleet.record_standings TO toolguard_gateway;

-- Maintenance: `fleet.maintain` calls this; partitions of `call` and `verdict` are dropped with all others.
CREATE FUNCTION fleet.maintain_sums() RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_kept fleet.summing;
    v_moved bigint := 0;
    v_now timestamptz := clock_timestamp();
BEGIN
    SELECT * INTO v_kept FROM fleet.summing FOR UPDATE;
    WHILE EXISTS (SELECT FROM fleet.call_part) OR EXISTS (SELECT FROM fleet.verdict_part) LOOP
        v_moved := v_moved + fleet.move_parts(50000);
        EXIT WHEN v_moved > 1000000;
    END LOOP;
    DELETE FROM fleet.hour WHERE at < v_now - make_interval(days => v_kept.hour_days);
    DELETE FROM fleet.verdict_hour WHERE at < v_now - make_interval(days => v_kept.hour_days);
    DELETE FROM fleet.day WHERE at < v_now - make_interval(days => v_kept.day_days);
    DELETE FROM fleet.verdict_day WHERE at < v_now - make_interval(days => v_kept.day_days);
    DELETE FROM fleet.standing WHERE stored < v_now - interval '30 days';
    RETURN jsonb_build_object('summed_parts', v_moved);
END $$;

-- Persons -----------------------------------------------------------------------------------------------------------

-- Model calls of the last p_hours by p_by: team, gateway, agent, model, hour or day. Whole hours up to 72, above whole days
-- (UTC), and not more than two minutes old. `name` of an hour or day is where it begins, seconds since 1970.
CREATE FUNCTION fleet.spending(p_hours integer, p_by text, p_team text DEFAULT NULL)
RETURNS TABLE (name text, calls numeric, failed numeric, input numeric, output numeric, cache_read numeric,
    cache_write numeric, total numeric, priced numeric, cost_usd numeric, estimated_usd numeric)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.reader();
    v_table text := CASE WHEN p_hours <= 72 THEN 'hour' ELSE 'day' END;
    v_name text := CASE p_by
        WHEN 'team' THEN 'g.team' WHEN 'gateway' THEN 's.gateway' WHEN 'agent' THEN 's.agent' WHEN 'model' THEN 's.model'
        WHEN 'hour' THEN 'extract(epoch FROM s.at)::bigint::text'
        WHEN 'day' THEN 'extract(epoch FROM date_trunc(''day'', s.at, ''UTC''))::bigint::text' END;
BEGIN
    IF p_hours IS NULL OR p_hours NOT BETWEEN 1 AND 87600 OR v_name IS NULL OR (p_by = 'hour' AND p_hours > 72) THEN
        RAISE EXCEPTION '1 to 87,600 hours by team, gateway, agent, model, day, or hour (up to 72)' USING ERRCODE = '22023';
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT %s, sum(s.calls), sum(s.failed), sum(s.input), sum(s.output), sum(s.cache_read), sum(s.cache_write),
            sum(s.total), sum(s.priced), sum(s.cost_usd), sum(s.estimated_usd)
        FROM fleet.%I AS s JOIN fleet.gateway AS g ON g.id = s.gateway
        WHERE s.at >= date_trunc(%L, clock_timestamp() - make_interval(hours => $1), ''UTC'')
            AND ($2 IS NULL OR g.team = $2) AND fleet.covers($3, g.team)
        GROUP BY 1 ORDER BY 10 DESC, 2 DESC, 1 LIMIT 1000', v_name, v_table, v_table)
        USING p_hours, p_team, v_person;
END $$;

-- Of the last p_hours, as `spending`: {calls, failed, total, priced, cost_usd, estimated_usd, verdicts: {kind: number}}.
CREATE FUNCTION fleet.totals(p_hours integer, p_team text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.reader();
    v_found jsonb;
    v_unit text := CASE WHEN p_hours <= 72 THEN 'hour' ELSE 'day' END;
    v_kinds jsonb;
BEGIN
    SELECT jsonb_build_object('calls', coalesce(sum(s.calls), 0), 'failed', coalesce(sum(s.failed), 0),
        'total', coalesce(sum(s.total), 0), 'priced', coalesce(sum(s.priced), 0), 'cost_usd', coalesce(sum(s.cost_usd), 0),
        'estimated_usd', coalesce(sum(s.estimated_usd), 0)) INTO v_found
    FROM fleet.spending(p_hours, 'team', p_team) AS s;
    EXECUTE format(
        'SELECT coalesce(jsonb_object_agg(kind, many), ''{}'') FROM (
            SELECT s.kind, sum(s.verdicts) AS many
            FROM fleet.%I AS s JOIN fleet.gateway AS g ON g.id = s.gateway
            WHERE s.at >= date_trunc(%L, clock_timestamp() - make_interval(hours => $1), ''UTC'')
                AND ($2 IS NULL OR g.team = $2) AND fleet.covers($3, g.team)
            GROUP BY s.kind ORDER BY many DESC, s.kind LIMIT 100) AS counted', 'verdict_' || v_unit, v_unit)
        INTO v_kinds USING p_hours, p_team, v_person;
    RETURN v_found || jsonb_build_object('verdicts', v_kinds);
END $$;

-- What each gateway last sent. Durations are seconds; NULL: never. `chains`, `forks`, `gaps`, `lines` of its audit log.
CREATE FUNCTION fleet.health()
RETURNS TABLE (gateway text, team text, state text, host text, version text, silent double precision,
    audit_silent double precision, metrics_silent double precision, chains bigint, forks bigint, gaps bigint, lines numeric)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.reader();
BEGIN
    RETURN QUERY
    SELECT g.id, g.team, g.state, g.host, c.version, -fleet.seconds_until(c.seen), -fleet.seconds_until(a.stored),
        -fleet.seconds_until(m.stored), coalesce(a.chains, 0), coalesce(a.forks, 0), coalesce(x.gaps, 0), coalesce(a.lines, 0)
    FROM fleet.gateway AS g
    LEFT JOIN fleet.contact AS c ON c.gateway = g.id
    LEFT JOIN (
        SELECT h.gateway, max(h.stored) AS stored, count(*) AS chains, count(h.forked) AS forks, sum(h.lines) AS lines
        FROM fleet.audit_head AS h GROUP BY h.gateway) AS a ON a.gateway = g.id
    LEFT JOIN (SELECT e.gateway, count(*) AS gaps FROM fleet.audit_gap AS e GROUP BY e.gateway) AS x ON x.gateway = g.id
    LEFT JOIN (SELECT h.gateway, max(h.stored) AS stored FROM fleet.metric_head AS h GROUP BY h.gateway) AS m
        ON m.gateway = g.id
    WHERE fleet.covers(v_person, g.team)
    ORDER BY g.id LIMIT 20000;
END $$;

-- The standings of one gateway, the latest first.
CREATE FUNCTION fleet.standings(p_gateway text) RETURNS SETOF fleet.standing
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.reader();
BEGIN
    PERFORM fleet.demand_team(v_person, coalesce((SELECT g.team FROM fleet.gateway AS g WHERE g.id = p_gateway), ''));
    RETURN QUERY SELECT s.* FROM fleet.standing AS s WHERE s.gateway = p_gateway ORDER BY s.touched DESC LIMIT 1000;
END $$;

GRANT EXECUTE ON FUNCTION fleet.spending, fleet.totals, fleet.health, fleet.standings TO toolguard_approver;
