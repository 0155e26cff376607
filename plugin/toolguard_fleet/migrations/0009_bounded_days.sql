-- Days with an end, and plans that know them: a question that names the days it needs locks and reads the partitions of these
-- days only, however many there are.
--
-- A partition is left out of a plan where both ends of the range are known when it is made. A generic plan, which PostgreSQL
-- prefers after five uses, and the plan of a function in SQL lock every partition with its indexes first; hence
-- `plan_cache_mode`, and functions in plpgsql. `day` is the server's day, so tomorrow is the end of every range: the clocks of
-- two servers that take over from each other differ by less.


CREATE FUNCTION fleet.last_day() RETURNS date
LANGUAGE sql VOLATILE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT fleet.utc_day(clock_timestamp()) + 1
$$;

-- The decisions on a call as they count: the last of each approver, in order. `p_until`: when the call was closed.
DROP FUNCTION fleet.decisions_on(text, text, timestamptz);
CREATE FUNCTION fleet.decisions_on(p_gateway text, p_nonce text, p_created timestamptz, p_until timestamptz DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fleet, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_from date := fleet.utc_day(p_created);
    v_to date := least(fleet.utc_day(p_until) + 1, fleet.last_day());
BEGIN
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('approver', approver, 'verdict', verdict,
        'body', translate(encode(body, 'base64'), E'\n', ''), 'signature', translate(encode(signature, 'base64'), E'\n', ''),
        'why', why, 'at', fleet.epoch(at)) ORDER BY at), '[]')
    FROM (
        SELECT DISTINCT ON (approver) * FROM fleet.decision
        WHERE gateway = p_gateway AND nonce = p_nonce AND day BETWEEN v_from AND v_to AND at >= p_created
        ORDER BY approver, number DESC
    ) AS last_ones);
END $$;

CREATE OR REPLACE FUNCTION fleet.closed_json(p_closed fleet.held_closed, p_entry boolean) RETURNS jsonb
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
        'decisions', fleet.decisions_on(p_closed.gateway, p_closed.nonce, p_closed.created, p_closed.decided))
$$;

-- The closed row of a nonce, NULL if there is none. One that is older than a week is looked for in all days.
CREATE OR REPLACE FUNCTION fleet.closed_of(p_gateway text, p_nonce text) RETURNS fleet.held_closed
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fleet, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_last date := fleet.last_day();
    v_closed fleet.held_closed;
BEGIN
    SELECT * INTO v_closed FROM fleet.held_closed
        WHERE gateway = p_gateway AND nonce = p_nonce AND day BETWEEN v_last - 2 AND v_last ORDER BY decided DESC LIMIT 1;
    IF NOT FOUND THEN
        SELECT * INTO v_closed FROM fleet.held_closed
            WHERE gateway = p_gateway AND nonce = p_nonce AND day BETWEEN v_last - 8 AND v_last - 3
            ORDER BY decided DESC LIMIT 1;
    END IF;
    IF NOT FOUND THEN
        SELECT * INTO v_closed FROM fleet.held_closed
            WHERE gateway = p_gateway AND nonce = p_nonce AND day < v_last - 8 ORDER BY decided DESC LIMIT 1;
    END IF;
    RETURN v_closed;
END $$;

-- What an attempt was answered before; NULL if it is new. Answers are those of today and yesterday.
CREATE OR REPLACE FUNCTION fleet.known_answer(p_gateway text, p_attempt bytea, p_binding text) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_held fleet.held;
    v_closed fleet.held_closed;
    v_since date := fleet.utc_day(clock_timestamp()) - 1;
BEGIN
    SELECT * INTO v_closed FROM fleet.held_closed
        WHERE gateway = p_gateway AND used_by = p_attempt AND binding = p_binding AND day BETWEEN v_since AND v_since + 2;
    IF FOUND THEN
        RETURN fleet.presented('used', false, fleet.closed_json(v_closed, true));
    END IF;
    SELECT * INTO v_held FROM fleet.held WHERE gateway = p_gateway AND binding = p_binding
        AND (attempt = p_attempt OR returned_by = p_attempt);
    IF FOUND AND v_held.expires > clock_timestamp() THEN
        RETURN fleet.presented('pending', v_held.attempt = p_attempt, fleet.held_json(v_held, true));
    END IF;
    SELECT * INTO v_closed FROM fleet.held_closed
        WHERE gateway = p_gateway AND attempt = p_attempt AND binding = p_binding AND day BETWEEN v_since AND v_since + 2
        ORDER BY decided DESC LIMIT 1;
    IF FOUND AND v_closed.status = 'denied' THEN
        RETURN fleet.presented('denied', false, fleet.closed_json(v_closed, true));
    ELSIF FOUND THEN -- it waited, and is over: it is not entered a second time
        RETURN fleet.presented('pending', true, fleet.closed_json(v_closed, true));
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION fleet.present(
    p_gateway text, p_token bytea, p_attempt bytea, p_nonce text, p_binding text, p_session text, p_requester text,
    p_digest bytea, p_entry bytea, p_wait double precision, p_need integer, p_need_teams text[],
    p_window double precision DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET plan_cache_mode = force_custom_plan SET lock_timeout = '1s' AS $$
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
        AND expires > v_now AND day BETWEEN v_since AND v_since + 2 ORDER BY decided DESC LIMIT 1;
    IF FOUND THEN
        RETURN fleet.presented('denied', false, fleet.closed_json(v_closed, true));
    END IF;
    PERFORM fleet.sweep(p_gateway);
    IF (SELECT count(*) FROM fleet.held WHERE gateway = p_gateway) >= 1000
        OR (SELECT count(*) FROM fleet.held WHERE gateway = p_gateway AND session = p_session) >= 100
    THEN
        RETURN jsonb_build_object('outcome', 'too-many', 'fresh', false);
    ELSIF EXISTS (SELECT FROM fleet.held WHERE gateway = p_gateway AND nonce = p_nonce)
        OR EXISTS (SELECT FROM fleet.held_closed WHERE gateway = p_gateway AND nonce = p_nonce AND day BETWEEN v_since AND v_since + 2)
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

-- The approval that an attempt used waits again, under its nonce and within its time, since its call did not run. NULL if
-- its time is over, somebody has decided on the same call since, or the attempt did not use it.
CREATE OR REPLACE FUNCTION fleet.give_back(p_gateway text, p_token bytea, p_nonce text, p_attempt bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET plan_cache_mode = force_custom_plan SET lock_timeout = '1s' AS $$
DECLARE
    v_gateway fleet.gateway := fleet.gateway_of(p_gateway, p_token);
    v_used fleet.held_closed;
    v_held fleet.held;
    v_why text;
    v_last date := fleet.last_day();
BEGIN
    PERFORM fleet.check_nonce(p_nonce);
    PERFORM fleet.check_bytes('attempt', p_attempt, 16, 16);
    PERFORM FROM fleet.contact WHERE gateway = p_gateway FOR NO KEY UPDATE;
    SELECT * INTO v_held FROM fleet.held WHERE gateway = p_gateway AND nonce = p_nonce AND returned_by = p_attempt;
    IF FOUND THEN
        RETURN fleet.held_json(v_held, true);
    END IF;
    SELECT * INTO v_used FROM fleet.held_closed WHERE gateway = p_gateway AND nonce = p_nonce AND used_by = p_attempt
        AND day BETWEEN v_last - 2 AND v_last;
    IF NOT FOUND THEN
        SELECT * INTO v_used FROM fleet.held_closed WHERE gateway = p_gateway AND nonce = p_nonce AND used_by = p_attempt
            AND day BETWEEN v_last - 32 AND v_last - 3;
    END IF;
    IF NOT FOUND OR v_used.expires <= clock_timestamp() THEN
        RETURN NULL;
    END IF;
    SELECT * INTO v_held FROM fleet.held WHERE gateway = p_gateway AND binding = v_used.binding FOR UPDATE;
    IF EXISTS (SELECT FROM fleet.held_closed WHERE gateway = p_gateway AND binding = v_used.binding AND status = 'denied'
            AND decided >= v_used.decided AND day BETWEEN v_used.day AND v_last)
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

-- Open calls of this gateway, and the last 1,000 that were closed within 24 hours. `entry` is null beyond 16 MB together.
CREATE OR REPLACE FUNCTION fleet.entries(p_gateway text, p_token bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET plan_cache_mode = force_custom_plan SET lock_timeout = '1s' AS $$
DECLARE
    v_gateway fleet.gateway := fleet.gateway_of(p_gateway, p_token);
    v_open jsonb;
    v_closed jsonb;
    v_last date := fleet.last_day();
BEGIN
    PERFORM fleet.sweep(p_gateway);
    SELECT jsonb_agg(fleet.held_json(h, size <= 16777216) ORDER BY (h).created) INTO v_open FROM (
        SELECT held AS h, sum(octet_length(entry)) OVER (ORDER BY created, nonce) AS size
        FROM fleet.held WHERE gateway = p_gateway AND expires > clock_timestamp()
    ) AS sized;
    SELECT jsonb_agg(fleet.closed_json(c, size <= 16777216) ORDER BY (c).decided) INTO v_closed FROM (
        SELECT held_closed AS c, sum(octet_length(entry)) OVER (ORDER BY decided DESC, nonce) AS size
        FROM fleet.held_closed
        WHERE gateway = p_gateway AND day BETWEEN v_last - 2 AND v_last
            AND decided > clock_timestamp() - interval '24 hours'
        ORDER BY decided DESC LIMIT 1000
    ) AS sized;
    RETURN jsonb_build_object('open', coalesce(v_open, '[]'), 'closed', coalesce(v_closed, '[]'),
        'server_time', fleet.epoch(clock_timestamp()));
END $$;

-- The heartbeat: what changed for this gateway. `p_waiting`: the nonces it wants to know of; those without news are left out.
-- The pace: idle gateways ask every 1 to 5 s, those with waiting calls every 0.25 to 1 s, growing with the fleet.
CREATE OR REPLACE FUNCTION fleet.sync(p_gateway text, p_token bytea, p_waiting text[], p_version text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET plan_cache_mode = force_custom_plan SET lock_timeout = '1s' AS $$
DECLARE
    v_gateway fleet.gateway := fleet.gateway_of(p_gateway, p_token);
    v_kill fleet.team_state;
    v_policy integer;
    v_decided jsonb;
    v_size real;
    v_next double precision;
    v_last date := fleet.last_day();
    v_gone text[];
    v_closed jsonb;
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
        SELECT jsonb_agg(jsonb_build_object('nonce', nonce, 'status', status, 'by', who, 'where', place, 'why', why,
                'left', fleet.seconds_until(expires), 'at', fleet.epoch(decided)))
            INTO v_decided
            FROM fleet.held WHERE gateway = p_gateway AND nonce = ANY (p_waiting) AND status = 'approved'
                AND expires > clock_timestamp();
        v_gone := ARRAY(SELECT each FROM unnest(p_waiting) AS each
            WHERE NOT EXISTS (SELECT FROM fleet.held WHERE gateway = p_gateway AND nonce = each));
        IF cardinality(v_gone) > 0 THEN
            SELECT jsonb_agg(jsonb_build_object('nonce', nonce, 'status', status, 'by', who, 'where', place, 'why', why,
                    'left', fleet.seconds_until(expires), 'at', fleet.epoch(decided)))
                INTO v_closed
                FROM fleet.held_closed WHERE gateway = p_gateway AND nonce = ANY (v_gone)
                    AND day BETWEEN v_last - 9 AND v_last;
            v_decided := coalesce(v_decided, '[]') || coalesce(v_closed, '[]');
        END IF;
    END IF;
    SELECT greatest(reltuples, 0) INTO v_size FROM pg_class WHERE oid = 'fleet.gateway'::regclass;
    v_next := CASE WHEN cardinality(p_waiting) > 0 THEN least(1000, greatest(250, v_size / 10))
        ELSE least(5000, greatest(1000, v_size / 2)) END;
    RETURN jsonb_build_object('kill', v_kill.team IS NOT NULL, 'kill_team', coalesce(v_kill.team, ''),
        'kill_why', coalesce(v_kill.kill_why, ''), 'kill_by', coalesce(v_kill.kill_by, ''),
        'policy_version', coalesce(v_policy, 0), 'decided', coalesce(v_decided, '[]'), 'next_ms', round(v_next),
        'team', v_gateway.team, 'server_time', fleet.epoch(clock_timestamp()));
END $$;

-- What was closed in these hours and this person may see, the latest first, at most 5,000.
CREATE OR REPLACE FUNCTION fleet.closed(p_hours double precision DEFAULT 24) RETURNS SETOF jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_person fleet.approver := fleet.person();
    v_since timestamptz;
    v_from date;
    v_last date := fleet.last_day();
BEGIN
    IF p_hours IS NULL OR p_hours NOT BETWEEN 0 AND 9600 THEN
        RAISE EXCEPTION 'hours must be 0 to 9600' USING ERRCODE = '22023';
    END IF;
    v_since := clock_timestamp() - make_interval(secs => p_hours * 3600);
    v_from := fleet.utc_day(v_since);
    RETURN QUERY SELECT fleet.with_gateway(fleet.closed_json(c, size <= 16777216), g, v_person) FROM (
        SELECT held_closed AS c, gw AS g,
            sum(octet_length(held_closed.entry)) OVER (ORDER BY held_closed.decided DESC, held_closed.nonce) AS size
        FROM fleet.held_closed JOIN fleet.gateway AS gw ON gw.id = held_closed.gateway
        WHERE held_closed.day BETWEEN v_from AND v_last AND held_closed.decided > v_since
            AND fleet.may_see(v_person, gw.team, held_closed.need_teams)
        ORDER BY held_closed.decided DESC, held_closed.nonce LIMIT 5000
    ) AS sized;
END $$;

-- A person's yes or no. `approved` when `need` different approvers have said yes; `denied` wins until the call is used.
CREATE OR REPLACE FUNCTION fleet.decide(
    p_gateway text, p_nonce text, p_verdict text, p_body bytea, p_signature bytea, p_why text
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET plan_cache_mode = force_custom_plan SET lock_timeout = '2s' AS $$
DECLARE
    v_person fleet.approver := fleet.decider();
    v_gateway fleet.gateway;
    v_held fleet.held;
    v_closed fleet.held_closed;
    v_now timestamptz;
    v_said integer;
    v_names text[];
    v_from date;
    v_last date := fleet.last_day();
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
    v_from := fleet.utc_day(v_held.created);
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
        AND approver = v_person.id AND day BETWEEN v_from AND v_last AND at >= v_held.created;
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
            AND day BETWEEN v_from AND v_last AND at >= v_held.created;
    IF v_held.status = 'pending' AND cardinality(v_names) >= v_held.need THEN
        UPDATE fleet.held SET status = 'approved', decided = v_now, expires = v_now + approval_window,
                who = array_to_string(v_names, ', '), place = 'fleet', why = p_why
            WHERE gateway = p_gateway AND nonce = p_nonce RETURNING * INTO v_held;
    END IF;
    RETURN fleet.with_gateway(fleet.held_json(v_held, false), v_gateway, v_person);
END $$;

-- A call that nobody answered may be made again, and so may one that was approved and did not run in time; it is held anew then.
CREATE OR REPLACE FUNCTION fleet.revive(p_gateway text, p_nonce text, p_why text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET plan_cache_mode = force_custom_plan SET lock_timeout = '2s' AS $$
DECLARE
    v_person fleet.approver := fleet.decider();
    v_gateway fleet.gateway;
    v_held fleet.held;
    v_closed fleet.held_closed;
    v_lapsed boolean;
BEGIN
    PERFORM fleet.check_nonce(p_nonce);
    PERFORM fleet.check_text('why', p_why, 0, 1000);
    SELECT * INTO v_gateway FROM fleet.gateway WHERE id = p_gateway;
    SELECT * INTO v_held FROM fleet.held WHERE gateway = p_gateway AND nonce = p_nonce FOR UPDATE;
    IF v_held.nonce IS NOT NULL AND fleet.may_see(v_person, v_gateway.team, v_held.need_teams) THEN
        IF v_held.expires > clock_timestamp() THEN
            PERFORM fleet.refuse(v_held.status);
        END IF;
        v_closed := fleet.close_held(v_held, 'expired', v_held.expires, v_held.who, v_held.place, v_held.why);
    ELSE
        v_closed := fleet.closed_of(p_gateway, p_nonce);
        SELECT * INTO v_closed FROM fleet.held_closed
            WHERE day = v_closed.day AND gateway = p_gateway AND nonce = p_nonce FOR UPDATE;
    END IF;
    -- Only people decide in the fleet, but for what gave way to an approval that is there again.
    v_lapsed := v_closed.place = 'fleet' AND v_closed.who <> '' AND v_closed.why NOT LIKE 'revived: %';
    IF v_closed.nonce IS NULL OR NOT fleet.may_see(v_person, v_gateway.team, v_closed.need_teams) THEN
        PERFORM fleet.refuse('unknown');
    ELSIF v_closed.status <> 'expired' OR NOT v_lapsed
        AND (v_closed.who <> '' OR v_closed.why <> '' OR v_closed.place NOT IN ('', 'native'))
    THEN
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

-- Adds the lines p_first, p_first + 1, ... to a chain; lines that are stored already are compared and not added again.
-- {outcome: stored, next}; or nothing is added: {outcome: gap, next} where lines before p_first are missing, {outcome:
-- refused, seq, why} for a line that is too large or does not fit its hash, {outcome: fork, seq} where another line with this
-- number is stored: then the gateway is in quarantine.
CREATE OR REPLACE FUNCTION fleet.audit_append(p_gateway text, p_token bytea, p_chain text, p_first bigint, p_lines bytea[])
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_head fleet.audit_head;
    v_last bigint;
    v_new bytea[];
    v_seq bigint;
    v_why text;
    v_hash text;
    v_line bytea;
    v_now timestamptz := clock_timestamp();
    v_tomorrow date := fleet.last_day();
    v_known bigint;
    v_same bigint;
BEGIN
    PERFORM fleet.gateway_of(p_gateway, p_token);
    IF p_chain IS NULL OR p_chain !~ '^[0-9a-f]{64}$' OR p_first IS NULL OR p_first NOT BETWEEN 1 AND 1e15::bigint
        OR p_lines IS NULL OR array_ndims(p_lines) <> 1 OR array_lower(p_lines, 1) <> 1 OR cardinality(p_lines) > 1000
        OR array_position(p_lines, NULL) IS NOT NULL OR cardinality(p_lines) = 0 OR pg_column_size(p_lines) > 4194304
    THEN
        RAISE EXCEPTION 'a chain, the number of its first line and 1 to 1,000 lines of at most 4 MiB are needed'
            USING ERRCODE = '22023';
    END IF;
    SELECT p_first + n - 1 INTO v_seq FROM unnest(p_lines) WITH ORDINALITY AS each (line, n)
    WHERE octet_length(line) > 65536 ORDER BY n LIMIT 1;
    IF FOUND THEN
        RETURN jsonb_build_object('outcome', 'refused', 'seq', v_seq, 'why', 'too-large');
    END IF;

    SELECT * INTO v_head FROM fleet.audit_head WHERE gateway = p_gateway AND chain = p_chain FOR UPDATE;
    IF NOT FOUND THEN
        v_head := fleet.audit_begin(p_gateway, p_chain, p_first, p_lines[1], v_now);
        IF v_head IS NULL THEN
            RETURN jsonb_build_object('outcome', 'refused', 'seq', p_first, 'why', 'hash');
        END IF;
    END IF;
    IF v_head.forked IS NOT NULL THEN
        RETURN jsonb_build_object('outcome', 'fork', 'seq', v_head.forked);
    END IF;

    v_last := p_first + cardinality(p_lines) - 1;
    -- Lines that are stored already: those of a lost answer are of today; a gateway that was restored offers older ones.
    v_known := least(v_last, v_head.seq) - p_first + 1;
    IF v_known > 0 THEN
        SELECT count(*), min(known.seq) FILTER (WHERE line IS DISTINCT FROM p_lines[(known.seq - p_first + 1)::int])
            INTO v_same, v_seq FROM fleet.audit AS known
            WHERE log = v_head.log AND known.seq BETWEEN p_first AND least(v_last, v_head.seq)
                AND day BETWEEN v_tomorrow - 2 AND v_tomorrow;
        IF v_same < v_known THEN
            SELECT min(known.seq) INTO v_seq FROM fleet.audit AS known
                WHERE log = v_head.log AND known.seq BETWEEN p_first AND least(v_last, v_head.seq)
                    AND line IS DISTINCT FROM p_lines[(known.seq - p_first + 1)::int];
        END IF;
    END IF;
    IF v_seq IS NULL AND v_head.seq BETWEEN p_first AND v_last THEN
        v_line := p_lines[(v_head.seq - p_first + 1)::int];
        IF encode(substr(v_line, octet_length(v_line) - 66, 64), 'escape') <> v_head.hash THEN
            v_seq := v_head.seq;
        END IF;
    END IF;
    IF v_seq IS NOT NULL THEN
        RETURN fleet.audit_quarantine(p_gateway, p_chain, v_seq);
    END IF;
    IF p_first > v_head.seq + 1 THEN
        RETURN jsonb_build_object('outcome', 'gap', 'next', v_head.seq + 1);
    END IF;
    IF v_last <= v_head.seq THEN
        RETURN jsonb_build_object('outcome', 'stored', 'next', v_head.seq + 1);
    END IF;

    v_new := p_lines[(v_head.seq - p_first + 2)::int:];
    SELECT seq, why INTO v_seq, v_why FROM fleet.audit_broken(v_head.seq, v_head.hash, v_new);
    IF FOUND THEN
        IF v_why = 'link' AND v_seq = v_head.seq + 1 THEN
            RETURN fleet.audit_quarantine(p_gateway, p_chain, v_head.seq);
        END IF;
        RETURN jsonb_build_object('outcome', 'refused', 'seq', v_seq, 'why', v_why);
    END IF;
    INSERT INTO fleet.audit (day, log, seq, stored, at, event, code, agent, nonce, line)
    SELECT (v_now AT TIME ZONE 'UTC')::date, v_head.log, v_head.seq + n, v_now,
        facts.at, facts.event, facts.code, facts.agent, facts.nonce, each.line
    FROM unnest(v_new) WITH ORDINALITY AS each (line, n), fleet.audit_facts(each.line) AS facts
    ORDER BY n;
    v_line := v_new[cardinality(v_new)];
    v_hash := encode(substr(v_line, octet_length(v_line) - 66, 64), 'escape');
    UPDATE fleet.audit_head SET seq = v_last, hash = v_hash, lines = lines + cardinality(v_new), stored = v_now
    WHERE gateway = p_gateway AND chain = p_chain;
    RETURN jsonb_build_object('outcome', 'stored', 'next', v_last + 1);
END $$;

-- The page and the audit logs ------------------------------------------------------------------------------------------

CREATE INDEX held_closed_latest ON fleet.held_closed (decided DESC, nonce);

-- The calls that are over, the latest first: at most 100. `p_before`: the end of the last one that was shown, seconds since 1970.
DROP FUNCTION fleet.page_closed(bytea, integer);
CREATE FUNCTION fleet.page_closed(p_session bytea, p_hours integer, p_before double precision DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
    v_since timestamptz;
    v_before timestamptz := coalesce(to_timestamp(p_before), 'infinity');
    v_from date;
    v_to date;
BEGIN
    IF p_hours IS NULL OR p_hours NOT BETWEEN 1 AND 2160 THEN
        RAISE EXCEPTION 'hours must be 1 to 2160' USING ERRCODE = '22023';
    END IF;
    v_since := clock_timestamp() - make_interval(hours => p_hours);
    v_from := fleet.utc_day(v_since);
    v_to := least(fleet.last_day(), fleet.utc_day(to_timestamp(p_before)));
    RETURN (SELECT coalesce(jsonb_agg(fleet.with_gateway(fleet.closed_json(s.c, s.size <= 4194304), s.g, v_person)
            ORDER BY (s.c).decided DESC, (s.c).nonce), '[]')
        FROM (
            SELECT c, g, sum(octet_length((c).entry)) OVER (ORDER BY (c).decided DESC, (c).nonce) AS size
            FROM (
                SELECT held_closed AS c, gw AS g
                FROM fleet.held_closed JOIN fleet.gateway AS gw ON gw.id = held_closed.gateway
                WHERE held_closed.day BETWEEN v_from AND v_to AND held_closed.decided > v_since
                    AND held_closed.decided < v_before AND fleet.may_see(v_person, gw.team, held_closed.need_teams)
                ORDER BY held_closed.decided DESC, held_closed.nonce LIMIT 100
            ) AS latest
        ) AS s);
END $$;
GRANT EXECUTE ON FUNCTION fleet.page_closed TO toolguard_page;

-- The latest lines first. p_filters: {team, gateway, event, agent, nonce, hours}, each optional. p_before: the `number` of
-- the last line that was shown. `line` is the text of the line; whatever it holds comes from a gateway.
--
-- The latest days are read first, and more of them only if they do not have enough. Lines of two days can be stored in another
-- order than their numbers, around midnight: then the day before is read, too.
CREATE OR REPLACE FUNCTION fleet.audit_lines(p_filters jsonb DEFAULT '{}', p_before bigint DEFAULT NULL, p_limit integer DEFAULT 100)
RETURNS TABLE (number bigint, gateway text, team text, chain text, seq bigint, stored timestamptz, line bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.reader();
    v_since timestamptz := clock_timestamp() - make_interval(hours => coalesce(p_filters ->> 'hours', '87600')::integer);
    v_oldest date := fleet.utc_day(v_since);
    v_last date := fleet.last_day();
    v_before bigint := coalesce(p_before, 9e18::bigint);
    v_most integer := least(greatest(coalesce(p_limit, 100), 1), 1000);
    v_from text := 'FROM fleet.audit AS a JOIN fleet.audit_head AS h ON h.log = a.log JOIN fleet.gateway AS g ON g.id = h.gateway
        WHERE a.number < $2 AND a.stored >= $3 AND fleet.covers($1, g.team)';
    v_days text;
    v_back integer;
    v_first date;
    v_found bigint;
    v_least bigint;
    v_other bigint;
BEGIN
    FOREACH v_back IN ARRAY ARRAY[2, 8, 40, 100000] LOOP
        v_first := greatest(v_oldest, v_last - v_back);
        v_days := format(' AND a.day BETWEEN %L AND %L', v_first, v_last)
            || CASE WHEN p_filters ? 'team' THEN format(' AND g.team = %L', p_filters ->> 'team') ELSE '' END
            || CASE WHEN p_filters ? 'gateway' THEN format(' AND h.gateway = %L', p_filters ->> 'gateway') ELSE '' END
            || CASE WHEN p_filters ? 'event' THEN format(' AND a.event = %L', p_filters ->> 'event') ELSE '' END
            || CASE WHEN p_filters ? 'agent' THEN format(' AND a.agent = %L', p_filters ->> 'agent') ELSE '' END
            || CASE WHEN p_filters ? 'nonce' THEN format(' AND a.nonce = %L', p_filters ->> 'nonce') ELSE '' END;
        EXIT WHEN v_first = v_oldest;
        EXECUTE format('SELECT count(*), min(number) FROM (SELECT a.number %s %s ORDER BY a.number DESC LIMIT %s) AS latest',
            v_from, v_days, v_most) INTO v_found, v_least USING v_person, v_before, v_since;
        CONTINUE WHEN v_found < v_most;
        EXECUTE format('SELECT max(number) FROM fleet.audit WHERE day = %L', v_first - 1) INTO v_other;
        EXIT WHEN v_least > coalesce(v_other, 0);
    END LOOP;
    RETURN QUERY EXECUTE format('SELECT a.number, h.gateway, g.team, h.chain, a.seq, a.stored, a.line %s %s
        ORDER BY a.number DESC LIMIT %s', v_from, v_days, v_most) USING v_person, v_before, v_since;
END $$;

-- What happened to the registry -----------------------------------------------------------------------------------------

-- The latest first. p_filters: {team, gateway, kind, hours}, each optional; p_before: the id of the last event that was shown.
-- What concerns no team is for admins and persons of the whole fleet.
CREATE FUNCTION fleet.events(p_filters jsonb DEFAULT '{}', p_before bigint DEFAULT NULL, p_limit integer DEFAULT 100)
RETURNS SETOF jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.reader();
    v_since timestamptz := clock_timestamp() - make_interval(hours => coalesce(p_filters ->> 'hours', '87600')::integer);
BEGIN
    RETURN QUERY SELECT jsonb_build_object('id', e.id, 'at', fleet.epoch(e.at), 'kind', e.kind, 'team', e.team,
            'gateway', e.gateway, 'who', e.who, 'detail', e.detail)
        FROM fleet.event AS e
        WHERE e.id < coalesce(p_before, 9e18::bigint) AND e.at >= v_since
            AND CASE WHEN e.team = '' THEN v_person.role = 'admin' OR '*' = ANY (v_person.teams)
                ELSE fleet.covers(v_person, e.team) END
            AND (NOT p_filters ? 'team' OR e.team = p_filters ->> 'team')
            AND (NOT p_filters ? 'gateway' OR e.gateway = p_filters ->> 'gateway')
            AND (NOT p_filters ? 'kind' OR e.kind = p_filters ->> 'kind')
        ORDER BY e.id DESC LIMIT least(greatest(coalesce(p_limit, 100), 1), 1000);
END $$;
GRANT EXECUTE ON FUNCTION fleet.events TO toolguard_approver;

-- Partitions, calls that are over, and new gateways that nobody admitted in 7 days. Ends transactions of gateways that are
-- older than a minute, also of a team's own login: no function takes as long, and their locks would be in the way. `spared`:
-- logins of gateways of which the owner is no member, so it may neither look at their sessions nor end them. `open`: whether logins outside of the fleet may connect to the database, or
-- create temporary tables, as after a restore, which brings no rights of the database itself.
CREATE OR REPLACE FUNCTION fleet.maintain() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_admin fleet.approver := fleet.admin();
    v_gateway text;
    v_old integer;
    v_expired integer := 0;
    v_forgotten integer;
    v_spared text[];
    v_done jsonb;
BEGIN
    FOR v_old IN SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND usename <> current_user
        AND xact_start < clock_timestamp() - interval '60 s' AND fleet.is_gateway_login(usename)
        AND pg_has_role(current_user, usename, 'MEMBER')
    LOOP
        PERFORM pg_terminate_backend(v_old);
    END LOOP;
    v_spared := ARRAY(SELECT DISTINCT usename::text FROM pg_stat_activity WHERE datname = current_database()
        AND fleet.is_gateway_login(usename) AND NOT pg_has_role(current_user, usename, 'MEMBER') ORDER BY 1);
    FOR v_gateway IN SELECT DISTINCT gateway FROM fleet.held WHERE expires <= clock_timestamp() LOOP
        v_expired := v_expired + fleet.sweep(v_gateway);
    END LOOP;
    DELETE FROM fleet.gateway WHERE id IN (
        SELECT g.id FROM fleet.gateway AS g JOIN fleet.contact AS c ON c.gateway = g.id
        WHERE g.state = 'new' AND c.seen < clock_timestamp() - interval '7 days' FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS v_forgotten = ROW_COUNT;
    v_done := fleet.maintain_partitions() || fleet.maintain_sums() || jsonb_build_object('expired', v_expired,
        'forgotten_gateways', v_forgotten, 'spared', to_jsonb(v_spared),
        'open', has_database_privilege('public', current_database(), 'CONNECT')
            OR has_database_privilege('public', current_database(), 'TEMPORARY'));
    INSERT INTO fleet.event (kind, who, detail) VALUES ('maintain', v_admin.id,
        format('%s partitions created, %s dropped', jsonb_array_length(v_done -> 'created'), jsonb_array_length(v_done -> 'dropped')));
    RETURN v_done;
END $$;
