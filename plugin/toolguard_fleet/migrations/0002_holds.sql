-- Held calls: the law of `toolguard_engine/approvals/ledger.py`, with the server's clock.
--
-- A row of `held` is pending or approved. What closes it (used, denied, expired) moves it to `held_closed` in the same
-- transaction. Locks are taken in one order: contact row, held row. `decide` and `revive` take only the held row, so that no
-- gateway can keep a person waiting but with the row in question.

CREATE TABLE fleet.held (
    gateway text NOT NULL REFERENCES fleet.gateway,
    nonce text NOT NULL,
    binding text NOT NULL,
    session text NOT NULL,
    requester text NOT NULL,
    digest bytea NOT NULL,
    entry bytea NOT NULL,
    attempt bytea NOT NULL,
    returned_by bytea,
    need integer NOT NULL,
    need_teams text[] NOT NULL,
    wait interval NOT NULL,
    approval_window interval NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'approved')),
    created timestamptz NOT NULL,
    expires timestamptz NOT NULL,
    decided timestamptz,
    who text NOT NULL DEFAULT '',
    place text NOT NULL DEFAULT '',
    why text NOT NULL DEFAULT '',
    PRIMARY KEY (gateway, nonce),
    UNIQUE (gateway, binding)
) WITH (fillfactor = 70);
CREATE INDEX held_expires ON fleet.held (expires);
COMMENT ON COLUMN fleet.held.attempt IS 'the question that entered the call';
COMMENT ON COLUMN fleet.held.returned_by IS 'the question that used the approval and gave it back';

-- `expires`: how long a denial answers; otherwise when it would have been over.
CREATE TABLE fleet.held_closed (
    day date NOT NULL,
    gateway text NOT NULL,
    nonce text NOT NULL,
    binding text NOT NULL,
    session text NOT NULL,
    requester text NOT NULL,
    digest bytea NOT NULL,
    entry bytea NOT NULL,
    attempt bytea NOT NULL,
    used_by bytea,
    need integer NOT NULL,
    need_teams text[] NOT NULL,
    wait interval NOT NULL,
    approval_window interval NOT NULL,
    status text NOT NULL CHECK (status IN ('used', 'denied', 'expired')),
    created timestamptz NOT NULL,
    expires timestamptz NOT NULL,
    decided timestamptz NOT NULL,
    who text NOT NULL,
    place text NOT NULL,
    why text NOT NULL,
    PRIMARY KEY (day, gateway, nonce)
) PARTITION BY RANGE (day);
CREATE TABLE fleet.held_closed_default PARTITION OF fleet.held_closed DEFAULT;
CREATE INDEX held_closed_nonce ON fleet.held_closed (gateway, nonce);
CREATE INDEX held_closed_binding ON fleet.held_closed (gateway, binding) WHERE status = 'denied';
CREATE INDEX held_closed_attempt ON fleet.held_closed (gateway, attempt);
CREATE INDEX held_closed_used_by ON fleet.held_closed (gateway, used_by) WHERE used_by IS NOT NULL;
CREATE INDEX held_closed_decided ON fleet.held_closed (gateway, decided);

-- Insert only. The last row of an approver counts: a signature that a gateway refused can be replaced while the call waits.
CREATE TABLE fleet.decision (
    day date NOT NULL,
    gateway text NOT NULL,
    nonce text NOT NULL,
    approver text NOT NULL,
    number integer NOT NULL,
    verdict text NOT NULL CHECK (verdict IN ('approved', 'denied')),
    body bytea NOT NULL,
    signature bytea NOT NULL,
    why text NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (day, gateway, nonce, approver, number)
) PARTITION BY RANGE (day);
CREATE TABLE fleet.decision_default PARTITION OF fleet.decision DEFAULT;

INSERT INTO fleet.retention (table_name, keep_days) VALUES ('held_closed', 90), ('decision', 400);

-- Parts -------------------------------------------------------------------------------------------------------------

CREATE FUNCTION fleet.utc_day(p_at timestamptz) RETURNS date
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT (p_at AT TIME ZONE 'UTC')::date
$$;

-- The decisions on a call as they count: the last of each approver, in order.
CREATE FUNCTION fleet.decisions_on(p_gateway text, p_nonce text, p_created timestamptz) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object('approver', approver, 'verdict', verdict,
        'body', translate(encode(body, 'base64'), E'\n', ''), 'signature', translate(encode(signature, 'base64'), E'\n', ''),
        'why', why, 'at', fleet.epoch(at)) ORDER BY at), '[]')
    FROM (
        SELECT DISTINCT ON (approver) * FROM fleet.decision
        WHERE gateway = p_gateway AND nonce = p_nonce AND day >= fleet.utc_day(p_created) AND at >= p_created
        ORDER BY approver, number DESC
    ) AS last_ones
$$;

-- Moves an open row. Its caller holds the row's lock.
CREATE FUNCTION fleet.close_held(
    p_held fleet.held, p_status text, p_expires timestamptz, p_by text, p_place text, p_why text, p_used_by bytea DEFAULT NULL
) RETURNS fleet.held_closed
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_closed fleet.held_closed;
BEGIN
    DELETE FROM fleet.held WHERE gateway = p_held.gateway AND nonce = p_held.nonce;
    INSERT INTO fleet.held_closed (day, gateway, nonce, binding, session, requester, digest, entry, attempt, used_by, need,
            need_teams, wait, approval_window, status, created, expires, decided, who, place, why)
        VALUES (fleet.utc_day(v_now), p_held.gateway, p_held.nonce, p_held.binding, p_held.session, p_held.requester,
            p_held.digest, p_held.entry, p_held.attempt, p_used_by, p_held.need, p_held.need_teams, p_held.wait,
            p_held.approval_window, p_status, p_held.created, p_expires, v_now, p_by, p_place, p_why)
        RETURNING * INTO v_closed;
    RETURN v_closed;
END $$;

-- Closes what is over, at most 100 of a gateway at a time; rows that others hold are left to them.
CREATE FUNCTION fleet.sweep(p_gateway text) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_held fleet.held;
    v_number integer := 0;
BEGIN
    FOR v_held IN SELECT * FROM fleet.held WHERE gateway = p_gateway AND expires <= clock_timestamp()
        ORDER BY expires LIMIT 100 FOR UPDATE SKIP LOCKED
    LOOP
        PERFORM fleet.close_held(v_held, 'expired', v_held.expires, v_held.who, v_held.place, v_held.why);
        v_number := v_number + 1;
    END LOOP;
    RETURN v_number;
END $$;

CREATE FUNCTION fleet.held_json(p_held fleet.held, p_entry boolean) RETURNS jsonb
LANGUAGE sql VOLATILE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT jsonb_build_object('gateway', p_held.gateway, 'nonce', p_held.nonce, 'status', p_held.status,
        'binding', p_held.binding, 'session', p_held.session, 'requester', p_held.requester,
        'digest', encode(p_held.digest, 'base64'),
        'entry', CASE WHEN p_entry THEN translate(encode(p_held.entry, 'base64'), E'\n', '') END,
        'need', p_held.need, 'need_teams', p_held.need_teams, 'created', fleet.epoch(p_held.created),
        'age', -fleet.seconds_until(p_held.created), 'left', fleet.seconds_until(p_held.expires),
        'expires', fleet.epoch(p_held.expires), 'wait', extract(epoch FROM p_held.wait)::double precision,
        'window', extract(epoch FROM p_held.approval_window)::double precision,
        'at', fleet.epoch(p_held.decided), 'by', p_held.who, 'where', p_held.place, 'why', p_held.why,
        'decisions', fleet.decisions_on(p_held.gateway, p_held.nonce, p_held.created))
$$;

CREATE FUNCTION fleet.closed_json(p_closed fleet.held_closed, p_entry boolean) RETURNS jsonb
LANGUAGE sql VOLATILE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT jsonb_build_object('gateway', p_closed.gateway, 'nonce', p_closed.nonce, 'status', p_closed.status,
        'binding', p_closed.binding, 'session', p_closed.session, 'requester', p_closed.requester,
        'digest', encode(p_closed.digest, 'base64'),
        'entry', CASE WHEN p_entry THEN translate(encode(p_closed.entry, 'base64'), E'\n', '') END,
        'need', p_closed.need, 'need_teams', p_closed.need_teams, 'created', fleet.epoch(p_closed.created),
        'age', -fleet.seconds_until(p_closed.created), 'left', fleet.seconds_until(p_closed.expires),
        'expires', fleet.epoch(p_closed.expires), 'wait', extract(epoch FROM p_closed.wait)::double precision,
        'window', extract(epoch FROM p_closed.approval_window)::double precision,
        'at', fleet.epoch(p_closed.decided), 'by', p_closed.who, 'where', p_closed.place, 'why', p_closed.why,
        'decisions', fleet.decisions_on(p_closed.gateway, p_closed.nonce, p_closed.created))
$$;

CREATE FUNCTION fleet.check_nonce(p_nonce text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    IF p_nonce IS NULL OR p_nonce !~ '^[0-9a-f]{8,32}$' THEN
        RAISE EXCEPTION 'a nonce is 8 to 32 hex digits' USING ERRCODE = '22023';
    END IF;
END $$;

-- The closed row of a nonce, NULL if there is none.
CREATE FUNCTION fleet.closed_of(p_gateway text, p_nonce text) RETURNS fleet.held_closed
LANGUAGE sql STABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT * FROM fleet.held_closed WHERE gateway = p_gateway AND nonce = p_nonce ORDER BY decided DESC LIMIT 1
$$;

-- Gateways ----------------------------------------------------------------------------------------------------------

CREATE FUNCTION fleet.presented(p_outcome text, p_fresh boolean, p_call jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT p_call || jsonb_build_object('outcome', p_outcome, 'fresh', p_fresh)
$$;

-- What an attempt was answered before; NULL if it is new. Answers are those of today and yesterday.
CREATE FUNCTION fleet.known_answer(p_gateway text, p_attempt bytea, p_binding text) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_held fleet.held;
    v_closed fleet.held_closed;
    v_since date := fleet.utc_day(clock_timestamp()) - 1;
BEGIN
    SELECT * INTO v_closed FROM fleet.held_closed
        WHERE gateway = p_gateway AND used_by = p_attempt AND binding = p_binding AND day >= v_since;
    IF FOUND THEN
        RETURN fleet.presented('used', false, fleet.closed_json(v_closed, true));
    END IF;
    SELECT * INTO v_held FROM fleet.held WHERE gateway = p_gateway AND binding = p_binding
        AND (attempt = p_attempt OR returned_by = p_attempt);
    IF FOUND AND v_held.expires > clock_timestamp() THEN
        RETURN fleet.presented('pending', v_held.attempt = p_attempt, fleet.held_json(v_held, true));
    END IF;
    SELECT * INTO v_closed FROM fleet.held_closed
        WHERE gateway = p_gateway AND attempt = p_attempt AND binding = p_binding AND day >= v_since
        ORDER BY decided DESC LIMIT 1;
    IF FOUND AND v_closed.status = 'denied' THEN
        RETURN fleet.presented('denied', false, fleet.closed_json(v_closed, true));
    ELSIF FOUND THEN -- it waited, and is over: it is not entered a second time
        RETURN fleet.presented('pending', true, fleet.closed_json(v_closed, true));
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION fleet.present(
    p_gateway text, p_token bytea, p_attempt bytea, p_nonce text, p_binding text, p_session text, p_requester text,
    p_digest bytea, p_entry bytea, p_wait double precision, p_need integer, p_need_teams text[],
    p_window double precision DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    v_gateway fleet.gateway := fleet.gateway_of(p_gateway, p_token);
    v_held fleet.held;
    v_closed fleet.held_closed;
    v_answer jsonb;
    v_now timestamptz;
    v_since date := fleet.utc_day(clock_timestamp()) - 1;
BEGIN
    PERFORM fleet.check_bytes('attempt', p_attempt, 16, 16);
    PERFORM fleet.check_nonce(p_nonce);
    PERFORM fleet.check_text('binding', p_binding, 1, 128);
    PERFORM fleet.check_text('session', p_session, 0, 1024);
    PERFORM fleet.check_text('requester', p_requester, 0, 256);
    PERFORM fleet.check_bytes('digest', p_digest, 32, 32);
    PERFORM fleet.check_bytes('entry', p_entry, 1, 262144);
    PERFORM fleet.check_teams(p_need_teams);
    IF p_wait IS NULL OR p_wait NOT BETWEEN 0.001 AND 2678400 OR p_window NOT BETWEEN 0.001 AND 2678400 THEN
        RAISE EXCEPTION 'wait and window must be more than 0 and at most 31 days, in seconds' USING ERRCODE = '22023';
    ELSIF p_need IS NULL OR p_need NOT BETWEEN 1 AND 10 THEN
        RAISE EXCEPTION 'need must be 1 to 10' USING ERRCODE = '22023';
    END IF;
    -- One question of a gateway at a time: its limits are exact, and two questions for one call do not race to insert.
    PERFORM FROM fleet.contact WHERE gateway = p_gateway FOR NO KEY UPDATE;
    v_answer := fleet.known_answer(p_gateway, p_attempt, p_binding);
    IF v_answer IS NOT NULL THEN
        RETURN v_answer;
    END IF;
    SELECT * INTO v_held FROM fleet.held WHERE gateway = p_gateway AND binding = p_binding FOR UPDATE;
    v_now := clock_timestamp();
    IF v_held.nonce IS NOT NULL AND v_held.expires <= v_now THEN
        PERFORM fleet.close_held(v_held, 'expired', v_held.expires, v_held.who, v_held.place, v_held.why);
    ELSIF v_held.status = 'approved' THEN
        v_closed := fleet.close_held(v_held, 'used', v_held.expires, v_held.who, v_held.place, v_held.why, p_attempt);
        RETURN fleet.presented('used', false, fleet.closed_json(v_closed, true));
    ELSIF v_held.status = 'pending' THEN
        RETURN fleet.presented('pending', false, fleet.held_json(v_held, true));
    END IF;
    SELECT * INTO v_closed FROM fleet.held_closed WHERE gateway = p_gateway AND binding = p_binding AND status = 'denied'
        AND expires > v_now AND day >= v_since ORDER BY decided DESC LIMIT 1;
    IF FOUND THEN
        RETURN fleet.presented('denied', false, fleet.closed_json(v_closed, true));
    END IF;
    PERFORM fleet.sweep(p_gateway);
    IF (SELECT count(*) FROM fleet.held WHERE gateway = p_gateway) >= 1000
        OR (SELECT count(*) FROM fleet.held WHERE gateway = p_gateway AND session = p_session) >= 100
    THEN
        RETURN jsonb_build_object('outcome', 'too-many', 'fresh', false);
    ELSIF EXISTS (SELECT FROM fleet.held WHERE gateway = p_gateway AND nonce = p_nonce)
        OR EXISTS (SELECT FROM fleet.held_closed WHERE gateway = p_gateway AND nonce = p_nonce AND day >= v_since)
    THEN
        RAISE EXCEPTION 'the nonce is taken' USING ERRCODE = 'TG021';
    END IF;
    INSERT INTO fleet.held (gateway, nonce, binding, session, requester, digest, entry, attempt, need, need_teams, wait,
            approval_window, created, expires)
        VALUES (p_gateway, p_nonce, p_binding, p_session, p_requester, p_digest, p_entry, p_attempt, p_need, p_need_teams,
            make_interval(secs => p_wait), make_interval(secs => coalesce(p_window, p_wait)), v_now,
            v_now + make_interval(secs => p_wait))
        RETURNING * INTO v_held;
    RETURN fleet.presented('pending', true, fleet.held_json(v_held, true));
END $$;
GRANT EXECUTE ON FUNCTION fleet.present TO toolguard_gateway;

-- What a gateway may close by itself: a no, or the end, of its own prompt or checkpoint. NULL if it is closed already, or
-- approved and would only expire.
CREATE FUNCTION fleet.close(
    p_gateway text, p_token bytea, p_nonce text, p_status text, p_by text, p_where text, p_why text
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    v_gateway fleet.gateway := fleet.gateway_of(p_gateway, p_token);
    v_held fleet.held;
    v_expires timestamptz;
BEGIN
    PERFORM fleet.check_nonce(p_nonce);
    PERFORM fleet.check_text('by', p_by, 0, 256);
    PERFORM fleet.check_text('where', p_where, 0, 64);
    PERFORM fleet.check_text('why', p_why, 0, 1000);
    IF p_where = 'fleet' THEN
        RAISE EXCEPTION 'what was decided in the fleet is not closed by a gateway' USING ERRCODE = '22023';
    ELSIF p_status IS NULL OR p_status NOT IN ('denied', 'expired') THEN
        RAISE EXCEPTION 'a gateway closes a call as denied or expired' USING ERRCODE = '22023';
    END IF;
    SELECT * INTO v_held FROM fleet.held WHERE gateway = p_gateway AND nonce = p_nonce FOR UPDATE;
    IF NOT FOUND OR (p_status = 'expired' AND v_held.status = 'approved') THEN
        RETURN NULL;
    END IF;
    v_expires := CASE p_status WHEN 'denied' THEN clock_timestamp() + least(v_held.wait, interval '600 s')
        ELSE v_held.expires END;
    RETURN fleet.closed_json(fleet.close_held(v_held, p_status, v_expires, p_by, p_where, p_why), false);
END $$;
GRANT EXECUTE ON FUNCTION fleet.close TO toolguard_gateway;

-- The approval that an attempt used waits again, under its nonce and within its time, since its call did not run. NULL if
-- its time is over, somebody has decided on the same call since, or the attempt did not use it.
CREATE FUNCTION fleet.give_back(p_gateway text, p_token bytea, p_nonce text, p_attempt bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    v_gateway fleet.gateway := fleet.gateway_of(p_gateway, p_token);
    v_used fleet.held_closed;
    v_held fleet.held;
    v_why text;
    v_since date := fleet.utc_day(clock_timestamp()) - 31;
BEGIN
    PERFORM fleet.check_nonce(p_nonce);
    PERFORM fleet.check_bytes('attempt', p_attempt, 16, 16);
    PERFORM FROM fleet.contact WHERE gateway = p_gateway FOR NO KEY UPDATE;
    SELECT * INTO v_held FROM fleet.held WHERE gateway = p_gateway AND nonce = p_nonce AND returned_by = p_attempt;
    IF FOUND THEN
        RETURN fleet.held_json(v_held, true);
    END IF;
    SELECT * INTO v_used FROM fleet.held_closed WHERE gateway = p_gateway AND nonce = p_nonce AND used_by = p_attempt
        AND day >= v_since;
    IF NOT FOUND OR v_used.expires <= clock_timestamp() THEN
        RETURN NULL;
    END IF;
    SELECT * INTO v_held FROM fleet.held WHERE gateway = p_gateway AND binding = v_used.binding FOR UPDATE;
    IF EXISTS (SELECT FROM fleet.held_closed WHERE gateway = p_gateway AND binding = v_used.binding AND status = 'denied'
            AND decided >= v_used.decided AND day >= v_used.day)
        OR (v_held.nonce IS NOT NULL AND v_held.expires > clock_timestamp() AND (v_held.status = 'approved'
            OR fleet.decisions_on(p_gateway, v_held.nonce, v_held.created) <> '[]'))
    THEN
        RETURN NULL;
    ELSIF v_held.nonce IS NOT NULL THEN
        PERFORM fleet.close_held(v_held, 'expired', v_held.expires, '', 'fleet', 'reissued: waits as ' || p_nonce);
    END IF;
    DELETE FROM fleet.held_closed WHERE day = v_used.day AND gateway = p_gateway AND nonce = p_nonce;
    v_why := left('reissued: it was used up, but its call did not run' || coalesce('; ' || nullif(v_used.why, ''), ''), 1000);
    INSERT INTO fleet.held (gateway, nonce, binding, session, requester, digest, entry, attempt, returned_by, need,
            need_teams, wait, approval_window, status, created, expires, decided, who, place, why)
        VALUES (p_gateway, p_nonce, v_used.binding, v_used.session, v_used.requester, v_used.digest, v_used.entry,
            v_used.attempt, p_attempt, v_used.need, v_used.need_teams, v_used.wait, v_used.approval_window, 'approved',
            v_used.created, v_used.expires, clock_timestamp(), v_used.who, v_used.place, v_why)
        RETURNING * INTO v_held;
    RETURN fleet.held_json(v_held, true);
END $$;
GRANT EXECUTE ON FUNCTION fleet.give_back TO toolguard_gateway;

-- Open calls of this gateway, and the last 1,000 that were closed within 24 hours. `entry` is null beyond 16 MB together.
CREATE FUNCTION fleet.entries(p_gateway text, p_token bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    v_gateway fleet.gateway := fleet.gateway_of(p_gateway, p_token);
    v_open jsonb;
    v_closed jsonb;
BEGIN
    PERFORM fleet.sweep(p_gateway);
    SELECT jsonb_agg(fleet.held_json(h, size <= 16777216) ORDER BY (h).created) INTO v_open FROM (
        SELECT held AS h, sum(octet_length(entry)) OVER (ORDER BY created, nonce) AS size
        FROM fleet.held WHERE gateway = p_gateway AND expires > clock_timestamp()
    ) AS sized;
    SELECT jsonb_agg(fleet.closed_json(c, size <= 16777216) ORDER BY (c).decided) INTO v_closed FROM (
        SELECT held_closed AS c, sum(octet_length(entry)) OVER (ORDER BY decided DESC, nonce) AS size
        FROM fleet.held_closed
        WHERE gateway = p_gateway AND day >= fleet.utc_day(clock_timestamp()) - 1
            AND decided > clock_timestamp() - interval '24 hours'
        ORDER BY decided DESC LIMIT 1000
    ) AS sized;
    RETURN jsonb_build_object('open', coalesce(v_open, '[]'), 'closed', coalesce(v_closed, '[]'),
        'server_time', fleet.epoch(clock_timestamp()));
END $$;
GRANT EXECUTE ON FUNCTION fleet.entries TO toolguard_gateway;

-- The heartbeat: what changed for this gateway. `p_waiting`: the nonces it wants to know of; those without news are left out.
-- The pace: idle gateways ask every 1 to 5 s, those with waiting calls every 0.25 to 1 s, growing with the fleet.
CREATE FUNCTION fleet.sync(p_gateway text, p_token bytea, p_waiting text[], p_version text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    v_gateway fleet.gateway := fleet.gateway_of(p_gateway, p_token);
    v_kill fleet.team_state;
    v_policy integer;
    v_decided jsonb;
    v_size real;
    v_next double precision;
    v_since date := fleet.utc_day(clock_timestamp()) - 8;
BEGIN
    PERFORM fleet.check_text('version', p_version, 0, 64);
    IF p_waiting IS NULL OR cardinality(p_waiting) > 1000 OR array_ndims(p_waiting) > 1 THEN
        RAISE EXCEPTION 'waiting must be a list of at most 1,000 nonces' USING ERRCODE = '22023';
    END IF;
    UPDATE fleet.contact SET seen = clock_timestamp(), version = p_version
        WHERE gateway = p_gateway AND (seen < clock_timestamp() - interval '5 s' OR version <> p_version);
    PERFORM fleet.sweep(p_gateway);
    SELECT * INTO v_kill FROM fleet.team_state WHERE team IN (v_gateway.team, '*') AND kill ORDER BY team DESC LIMIT 1;
    SELECT policy_version INTO v_policy FROM fleet.team_state
        WHERE team IN (v_gateway.team, '*') AND policy_version > 0 ORDER BY team = '*' LIMIT 1;
    IF cardinality(p_waiting) > 0 THEN
        SELECT jsonb_agg(news) INTO v_decided FROM (
        SELECT jsonb_build_object('nonce', nonce, 'status', status, 'by', who, 'where', place, 'why', why,
            'left', fleet.seconds_until(expires), 'at', fleet.epoch(decided)) AS news
        FROM fleet.held WHERE gateway = p_gateway AND nonce = ANY (p_waiting) AND status = 'approved'
            AND expires > clock_timestamp()
        UNION ALL
        SELECT jsonb_build_object('nonce', nonce, 'status', status, 'by', who, 'where', place, 'why', why,
            'left', fleet.seconds_until(expires), 'at', fleet.epoch(decided))
        FROM fleet.held_closed WHERE gateway = p_gateway AND nonce = ANY (p_waiting) AND day >= v_since
        ) AS found;
    END IF;
    SELECT greatest(reltuples, 0) INTO v_size FROM pg_class WHERE oid = 'fleet.gateway'::regclass;
    v_next := CASE WHEN cardinality(p_waiting) > 0 THEN least(1000, greatest(250, v_size / 10))
        ELSE least(5000, greatest(1000, v_size / 2)) END;
    RETURN jsonb_build_object('kill', v_kill.team IS NOT NULL, 'kill_team', coalesce(v_kill.team, ''),
        'kill_why', coalesce(v_kill.kill_why, ''), 'kill_by', coalesce(v_kill.kill_by, ''),
        'policy_version', coalesce(v_policy, 0), 'decided', coalesce(v_decided, '[]'), 'next_ms', round(v_next),
        'team', v_gateway.team, 'server_time', fleet.epoch(clock_timestamp()));
END $$;
GRANT EXECUTE ON FUNCTION fleet.sync TO toolguard_gateway;

-- Persons -----------------------------------------------------------------------------------------------------------

CREATE FUNCTION fleet.may_see(p_person fleet.approver, p_team text, p_need_teams text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT fleet.covers(p_person, p_team) OR coalesce(p_need_teams && p_person.teams, false)
$$;

CREATE FUNCTION fleet.with_gateway(p_call jsonb, p_gateway fleet.gateway, p_person fleet.approver) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT p_call || jsonb_build_object('team', p_gateway.team, 'host', p_gateway.host, 'you', p_person.id)
$$;

-- What waits and this person may see, the oldest first, at most 10,000. `entry` is null beyond 16 MB together.
CREATE FUNCTION fleet.waiting() RETURNS SETOF jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.person();
BEGIN
    RETURN QUERY SELECT fleet.with_gateway(fleet.held_json(h, size <= 16777216), g, v_person) FROM (
        SELECT held AS h, gw AS g, sum(octet_length(held.entry)) OVER (ORDER BY held.created, held.nonce) AS size
        FROM fleet.held JOIN fleet.gateway AS gw ON gw.id = held.gateway
        WHERE held.expires > clock_timestamp() AND gw.state = 'admitted'
            AND fleet.may_see(v_person, gw.team, held.need_teams)
        ORDER BY held.created, held.nonce LIMIT 10000
    ) AS sized;
END $$;
GRANT EXECUTE ON FUNCTION fleet.waiting TO toolguard_approver;

-- What was closed in these hours and this person may see, the latest first, at most 5,000.
CREATE FUNCTION fleet.closed(p_hours double precision DEFAULT 24) RETURNS SETOF jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.person();
    v_since timestamptz;
BEGIN
    IF p_hours IS NULL OR p_hours NOT BETWEEN 0 AND 9600 THEN
        RAISE EXCEPTION 'hours must be 0 to 9600' USING ERRCODE = '22023';
    END IF;
    v_since := clock_timestamp() - make_interval(secs => p_hours * 3600);
    RETURN QUERY SELECT fleet.with_gateway(fleet.closed_json(c, size <= 16777216), g, v_person) FROM (
        SELECT held_closed AS c, gw AS g,
            sum(octet_length(held_closed.entry)) OVER (ORDER BY held_closed.decided DESC, held_closed.nonce) AS size
        FROM fleet.held_closed JOIN fleet.gateway AS gw ON gw.id = held_closed.gateway
        WHERE held_closed.day >= fleet.utc_day(v_since) AND held_closed.decided > v_since
            AND fleet.may_see(v_person, gw.team, held_closed.need_teams)
        ORDER BY held_closed.decided DESC, held_closed.nonce LIMIT 5000
    ) AS sized;
END $$;
GRANT EXECUTE ON FUNCTION fleet.closed TO toolguard_approver;

CREATE FUNCTION fleet.refuse(p_cause text, p_more text DEFAULT '') RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'refused: %', p_cause USING ERRCODE = 'TG012', DETAIL = p_cause, HINT = p_more;
END $$;

-- The approver of this session, for a call of this gateway. An unknown gateway is refused like an unknown nonce.
CREATE FUNCTION fleet.decider() RETURNS fleet.approver
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.person();
BEGIN
    IF v_person.role NOT IN ('approver', 'admin') THEN
        RAISE EXCEPTION 'a viewer cannot decide' USING ERRCODE = 'TG010';
    END IF;
    RETURN v_person;
END $$;

-- A person's yes or no. `approved` when `need` different approvers have said yes; `denied` wins until the call is used.
CREATE FUNCTION fleet.decide(
    p_gateway text, p_nonce text, p_verdict text, p_body bytea, p_signature bytea, p_why text
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_person fleet.approver := fleet.decider();
    v_gateway fleet.gateway;
    v_held fleet.held;
    v_closed fleet.held_closed;
    v_now timestamptz;
    v_said integer;
    v_names text[];
BEGIN
    PERFORM fleet.check_nonce(p_nonce);
    PERFORM fleet.check_text('why', p_why, 0, 1000);
    PERFORM fleet.check_bytes('body', p_body, 0, 4096);
    PERFORM fleet.check_bytes('signature', p_signature, 0, 16384);
    IF p_verdict IS NULL OR p_verdict NOT IN ('approved', 'denied') THEN
        RAISE EXCEPTION 'a verdict is approved or denied' USING ERRCODE = '22023';
    END IF;
    SELECT * INTO v_gateway FROM fleet.gateway WHERE id = p_gateway;
    SELECT * INTO v_held FROM fleet.held WHERE gateway = p_gateway AND nonce = p_nonce FOR UPDATE;
    IF v_held.nonce IS NULL THEN
        v_closed := fleet.closed_of(p_gateway, p_nonce);
        IF v_closed.nonce IS NULL OR NOT fleet.may_see(v_person, v_gateway.team, v_closed.need_teams) THEN
            PERFORM fleet.refuse('unknown');
        END IF;
        PERFORM fleet.refuse(v_closed.status);
    ELSIF NOT fleet.may_see(v_person, v_gateway.team, v_held.need_teams) THEN
        PERFORM fleet.refuse('unknown');
    END IF;
    v_now := clock_timestamp();
    IF v_held.expires <= v_now THEN
        PERFORM fleet.refuse('expired');
    END IF;
    IF p_verdict = 'approved' THEN
        IF cardinality(v_held.need_teams) > 0 AND NOT ('*' = ANY (v_person.teams) OR v_held.need_teams && v_person.teams) THEN
            RAISE EXCEPTION 'a yes to this call needs the team %', array_to_string(v_held.need_teams, ' or ')
                USING ERRCODE = 'TG011';
        ELSIF lower(v_held.requester) IN (lower(v_person.id), lower(v_person.login)) THEN
            PERFORM fleet.refuse('requester');
        END IF;
    END IF;
    SELECT count(*) INTO v_said FROM fleet.decision WHERE gateway = p_gateway AND nonce = p_nonce
        AND approver = v_person.id AND day >= fleet.utc_day(v_held.created) AND at >= v_held.created;
    IF p_verdict = 'approved' AND v_held.status = 'approved' AND v_said = 0 THEN
        PERFORM fleet.refuse('approved');
    ELSIF v_said >= 20 THEN
        PERFORM fleet.refuse('again');
    END IF;
    INSERT INTO fleet.decision (day, gateway, nonce, approver, number, verdict, body, signature, why, at)
        VALUES (fleet.utc_day(v_now), p_gateway, p_nonce, v_person.id, v_said, p_verdict, p_body, p_signature, p_why, v_now);
    IF p_verdict = 'denied' THEN
        v_closed := fleet.close_held(v_held, 'denied', v_now + least(v_held.wait, interval '600 s'), v_person.id, 'fleet',
            p_why);
        RETURN fleet.with_gateway(fleet.closed_json(v_closed, false), v_gateway, v_person);
    END IF;
    SELECT array_agg(DISTINCT approver.id ORDER BY approver.id) INTO v_names
        FROM fleet.decision JOIN fleet.approver ON approver.id = decision.approver
        WHERE gateway = p_gateway AND nonce = p_nonce AND verdict = 'approved' AND approver.revoked IS NULL
            AND day >= fleet.utc_day(v_held.created) AND at >= v_held.created;
    IF v_held.status = 'pending' AND cardinality(v_names) >= v_held.need THEN
        UPDATE fleet.held SET status = 'approved', decided = v_now, expires = v_now + approval_window,
                who = array_to_string(v_names, ', '), place = 'fleet', why = p_why
            WHERE gateway = p_gateway AND nonce = p_nonce RETURNING * INTO v_held;
    END IF;
    RETURN fleet.with_gateway(fleet.held_json(v_held, false), v_gateway, v_person);
END $$;
GRANT EXECUTE ON FUNCTION fleet.decide TO toolguard_approver;

-- A call that nobody answered may be made again; it is held anew then.
CREATE FUNCTION fleet.revive(p_gateway text, p_nonce text, p_why text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_person fleet.approver := fleet.decider();
    v_gateway fleet.gateway;
    v_held fleet.held;
    v_closed fleet.held_closed;
BEGIN
    PERFORM fleet.check_nonce(p_nonce);
    PERFORM fleet.check_text('why', p_why, 0, 1000);
    SELECT * INTO v_gateway FROM fleet.gateway WHERE id = p_gateway;
    SELECT * INTO v_held FROM fleet.held WHERE gateway = p_gateway AND nonce = p_nonce FOR UPDATE;
    IF v_held.nonce IS NOT NULL AND fleet.may_see(v_person, v_gateway.team, v_held.need_teams) THEN
        IF v_held.expires > clock_timestamp() OR v_held.status = 'approved' THEN
            PERFORM fleet.refuse(v_held.status);
        END IF;
        v_closed := fleet.close_held(v_held, 'expired', v_held.expires, v_held.who, v_held.place, v_held.why);
    ELSE
        SELECT * INTO v_closed FROM fleet.held_closed WHERE gateway = p_gateway AND nonce = p_nonce
            ORDER BY decided DESC LIMIT 1 FOR UPDATE;
    END IF;
    IF v_closed.nonce IS NULL OR NOT fleet.may_see(v_person, v_gateway.team, v_closed.need_teams) THEN
        PERFORM fleet.refuse('unknown');
    ELSIF v_closed.status <> 'expired' OR v_closed.who <> '' OR v_closed.why <> '' OR v_closed.place NOT IN ('', 'native') THEN
        PERFORM fleet.refuse(v_closed.status);
    END IF;
    SELECT * INTO v_held FROM fleet.held WHERE gateway = p_gateway AND binding = v_closed.binding
        AND expires > clock_timestamp();
    IF FOUND THEN
        PERFORM fleet.refuse('again', v_held.nonce);
    END IF;
    UPDATE fleet.held_closed SET who = v_person.id, place = 'fleet', why = 'revived: the agent may make the call again'
        WHERE day = v_closed.day AND gateway = p_gateway AND nonce = p_nonce RETURNING * INTO v_closed;
    RETURN fleet.with_gateway(fleet.closed_json(v_closed, false), v_gateway, v_person);
END $$;
GRANT EXECUTE ON FUNCTION fleet.revive TO toolguard_approver;

-- Admins ------------------------------------------------------------------------------------------------------------

-- Partitions, calls that are over, and new gateways that nobody admitted in 7 days. Ends transactions of gateways that are
-- older than a minute: no function takes as long, and their locks would be in the way.
CREATE FUNCTION fleet.maintain() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_admin fleet.approver := fleet.admin();
    v_gateway text;
    v_expired integer := 0;
    v_forgotten integer;
BEGIN
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'toolguard_gateway'
        AND datname = current_database() AND xact_start < clock_timestamp() - interval '60 s';
    FOR v_gateway IN SELECT DISTINCT gateway FROM fleet.held WHERE expires <= clock_timestamp() LOOP
        v_expired := v_expired + fleet.sweep(v_gateway);
    END LOOP;
    DELETE FROM fleet.gateway WHERE id IN (
        SELECT g.id FROM fleet.gateway AS g JOIN fleet.contact AS c ON c.gateway = g.id
        WHERE g.state = 'new' AND c.seen < clock_timestamp() - interval '7 days' FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS v_forgotten = ROW_COUNT;
    RETURN fleet.maintain_partitions() || fleet.maintain_sums() || jsonb_build_object('expired', v_expired, 'forgotten_gateways', v_forgotten);
END $$;
GRANT EXECUTE ON FUNCTION fleet.maintain TO toolguard_admin;
