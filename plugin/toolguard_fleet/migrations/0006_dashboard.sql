-- The fleet dashboard: one login, `toolguard_page`, for everybody who looks at it.
--
-- The login may call the functions `page_*` and nothing else. Each takes the secret of a session and finds the person by it;
-- teams and roles are checked here, not in the process. So the login alone opens nothing: it takes a person's token, or, if
-- an admin has allowed it (`set_page_proxy`), a name that a reverse proxy vouches for.
--
-- SQLSTATEs: TG030 not logged in.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'toolguard_page') THEN
        CREATE ROLE toolguard_page LOGIN CONNECTION LIMIT 50;
        ALTER ROLE toolguard_page SET statement_timeout = '5s';
        ALTER ROLE toolguard_page SET lock_timeout = '1s';
        ALTER ROLE toolguard_page SET idle_in_transaction_session_timeout = '5s';
    END IF;
END $$;
GRANT USAGE ON SCHEMA fleet TO toolguard_page;
GRANT EXECUTE ON FUNCTION fleet.schema_version() TO toolguard_page;

-- `hash`: SHA-256 of the token, which nobody keeps but its person. `id` names it where it is listed or revoked.
CREATE TABLE fleet.page_token (
    id text PRIMARY KEY,
    hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    person text NOT NULL REFERENCES fleet.approver (id),
    created timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_by text NOT NULL,
    expires timestamptz NOT NULL,
    used timestamptz,
    revoked timestamptz,
    revoked_by text NOT NULL DEFAULT ''
);
CREATE INDEX page_token_person ON fleet.page_token (person);

-- `hash`: SHA-256 of the session's secret. `token`: what it was begun with; NULL: a reverse proxy.
CREATE TABLE fleet.page_session (
    hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    person text NOT NULL REFERENCES fleet.approver (id),
    token text REFERENCES fleet.page_token (id),
    created timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires timestamptz NOT NULL
);
CREATE INDEX page_session_person ON fleet.page_session (person);

CREATE TABLE fleet.page_setting (proxy boolean NOT NULL DEFAULT false);
INSERT INTO fleet.page_setting DEFAULT VALUES;

-- Who asks ----------------------------------------------------------------------------------------------------------

-- The id of the person for whom this session acts. At the dashboard's login the functions `page_*` state who it is, for their
-- transaction; nothing that relies on it can be called there directly, so that login must never be a person's own.
CREATE FUNCTION fleet.session_person() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT CASE WHEN session_user = 'toolguard_page' THEN current_setting('toolguard.page_person', true)
        ELSE (SELECT id FROM fleet.approver WHERE login = session_user) END
$$;
ALTER TABLE fleet.approver ADD CHECK (login <> 'toolguard_page');

CREATE OR REPLACE FUNCTION fleet.person() RETURNS fleet.approver
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver;
BEGIN
    SELECT * INTO v_person FROM fleet.approver WHERE id = fleet.session_person() AND revoked IS NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the login % is not registered as a person of this fleet', quote_ident(session_user)
            USING ERRCODE = 'TG010';
    END IF;
    RETURN v_person;
END $$;

CREATE OR REPLACE FUNCTION fleet.admin() RETURNS fleet.approver
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver;
BEGIN
    SELECT * INTO v_person FROM fleet.approver WHERE id = fleet.session_person() AND revoked IS NULL AND role = 'admin';
    IF FOUND THEN
        RETURN v_person;
    ELSIF fleet.is_owner() THEN
        v_person.id := session_user;
        v_person.login := session_user;
        v_person.role := 'admin';
        v_person.teams := '{*}';
        RETURN v_person;
    END IF;
    RAISE EXCEPTION '% is not an admin of this fleet', CASE WHEN session_user = 'toolguard_page' THEN 'this person'
        ELSE 'the login ' || quote_ident(session_user) END USING ERRCODE = 'TG010';
END $$;

-- The person of a session of the dashboard, for the rest of the transaction.
CREATE FUNCTION fleet.page_person(p_session bytea) RETURNS fleet.approver
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver;
BEGIN
    SELECT a.* INTO v_person
    FROM fleet.page_session AS s
    JOIN fleet.approver AS a ON a.id = s.person
    LEFT JOIN fleet.page_token AS t ON t.id = s.token
    WHERE octet_length(p_session) = 64 AND s.hash = sha256(p_session) AND s.expires > clock_timestamp()
        AND a.revoked IS NULL
        AND CASE WHEN s.token IS NULL THEN (SELECT proxy FROM fleet.page_setting)
            ELSE t.revoked IS NULL AND t.expires > clock_timestamp() END;
    PERFORM set_config('toolguard.page_person', coalesce(v_person.id, ''), true);
    IF v_person.id IS NULL THEN
        RAISE EXCEPTION 'not logged in' USING ERRCODE = 'TG030';
    END IF;
    RETURN v_person;
END $$;

CREATE FUNCTION fleet.page_begin(p_person text, p_token text, p_until timestamptz, p_hash bytea) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    PERFORM fleet.check_bytes('session', p_hash, 32, 32);
    DELETE FROM fleet.page_session WHERE expires <= clock_timestamp();
    DELETE FROM fleet.page_session WHERE hash IN (
        SELECT hash FROM fleet.page_session WHERE person = p_person ORDER BY created DESC OFFSET 49);
    INSERT INTO fleet.page_session (hash, person, token, expires)
        VALUES (p_hash, p_person, p_token, least(p_until, clock_timestamp() + interval '12 hours'));
    RETURN to_jsonb(p_person);
END $$;

-- Begins a session with a token. p_token: the token; p_hash: SHA-256 of the session's new secret.
CREATE FUNCTION fleet.page_login(p_token bytea, p_hash bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_token fleet.page_token;
BEGIN
    PERFORM fleet.check_bytes('token', p_token, 32, 128);
    SELECT t.* INTO v_token FROM fleet.page_token AS t JOIN fleet.approver AS a ON a.id = t.person
        WHERE t.hash = sha256(p_token) AND t.revoked IS NULL AND t.expires > clock_timestamp() AND a.revoked IS NULL
        FOR NO KEY UPDATE OF t;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this token is not valid, or not any more' USING ERRCODE = 'TG030';
    END IF;
    UPDATE fleet.page_token SET used = clock_timestamp() WHERE id = v_token.id;
    RETURN fleet.page_begin(v_token.person, v_token.id, v_token.expires, p_hash);
END $$;

-- Begins a session of a person whom a reverse proxy has logged in.
CREATE FUNCTION fleet.page_enter(p_person text, p_hash bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    IF NOT (SELECT proxy FROM fleet.page_setting) THEN
        RAISE EXCEPTION 'an admin has not allowed that a reverse proxy logs persons in' USING ERRCODE = 'TG030';
    ELSIF NOT EXISTS (SELECT FROM fleet.approver WHERE id = p_person AND revoked IS NULL) THEN
        RAISE EXCEPTION 'this person is not registered in the fleet' USING ERRCODE = 'TG030';
    END IF;
    RETURN fleet.page_begin(p_person, NULL, 'infinity', p_hash);
END $$;

CREATE FUNCTION fleet.page_logout(p_session bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    DELETE FROM fleet.page_session WHERE octet_length(p_session) = 64 AND hash = sha256(p_session);
    RETURN 'true';
END $$;

-- What is shown ---------------------------------------------------------------------------------------------------------

CREATE FUNCTION fleet.page_me(p_session bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
BEGIN
    RETURN jsonb_build_object('id', v_person.id, 'role', v_person.role, 'teams', v_person.teams,
        'server_time', fleet.epoch(clock_timestamp()));
END $$;

-- The teams that this person may see, and `*`, whose kill switch stops them too. At most 500.
CREATE FUNCTION fleet.page_teams(p_session bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
BEGIN
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('team', s.team, 'kill', s.kill, 'kill_why', s.kill_why,
            'kill_by', s.kill_by, 'kill_at', fleet.epoch(s.kill_at), 'policy_version', s.policy_version,
            'gateways', (SELECT count(*) FROM fleet.gateway AS g WHERE g.team = s.team AND g.state = 'admitted'),
            'waiting', (SELECT count(*) FROM fleet.held AS h JOIN fleet.gateway AS g ON g.id = h.gateway
                WHERE g.team = s.team AND h.status = 'pending' AND h.expires > clock_timestamp()),
            'yours', fleet.covers(v_person, s.team)) ORDER BY s.team), '[]')
        FROM (SELECT * FROM fleet.team_state AS t WHERE t.team = '*' OR fleet.covers(v_person, t.team)
            ORDER BY t.team LIMIT 500) AS s);
END $$;

-- `silent`, `audit_silent`, `metrics_silent`: seconds since the last contact, lines and rows; null: never. `forks`: chains of
-- its audit log of which a second version was offered: the gateway is quarantined. `all`: how many there are; the list has
-- 500, those that need attention first.
CREATE FUNCTION fleet.page_gateways(p_session bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
BEGIN
    RETURN jsonb_build_object(
        'all', (SELECT count(*) FROM fleet.gateway AS g WHERE fleet.covers(v_person, g.team)),
        'gateways', (
        SELECT coalesce(jsonb_agg(to_jsonb(shown) ORDER BY shown.state <> 'new', shown.forks = 0, shown.team, shown.id), '[]')
        FROM (
            SELECT g.id, g.team, g.state, g.host, c.version, fleet.epoch(c.seen) AS seen,
                -fleet.seconds_until(c.seen) AS silent, c.left_at IS NOT NULL AS has_left,
                -fleet.seconds_until(a.stored) AS audit_silent, -fleet.seconds_until(m.stored) AS metrics_silent,
                coalesce(a.forks, 0) AS forks, coalesce(x.gaps, 0) AS gaps, coalesce(a.lines, 0)::bigint AS lines,
                (SELECT count(*) FROM fleet.held AS h WHERE h.gateway = g.id AND h.status = 'pending'
                    AND h.expires > clock_timestamp()) AS waiting
            FROM fleet.gateway AS g
            JOIN fleet.contact AS c ON c.gateway = g.id
            LEFT JOIN LATERAL (SELECT max(h.stored) AS stored, count(h.forked) AS forks, sum(h.lines) AS lines
                FROM fleet.audit_head AS h WHERE h.gateway = g.id) AS a ON true
            LEFT JOIN LATERAL (SELECT count(*) AS gaps FROM fleet.audit_gap AS e WHERE e.gateway = g.id) AS x ON true
            LEFT JOIN LATERAL (SELECT max(h.stored) AS stored FROM fleet.metric_head AS h WHERE h.gateway = g.id) AS m ON true
            WHERE fleet.covers(v_person, g.team)
            ORDER BY g.state <> 'new', g.state = 'revoked', coalesce(a.forks, 0) = 0, c.seen, g.id LIMIT 500
        ) AS shown));
END $$;

-- Who may say yes to a call of this team, at most 50. A requester cannot approve.
CREATE FUNCTION fleet.page_may_approve(p_team text, p_need_teams text[], p_requester text) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT coalesce(jsonb_agg(found.id ORDER BY found.id), '[]') FROM (
        SELECT a.id FROM fleet.approver AS a
        WHERE a.revoked IS NULL AND a.role IN ('approver', 'admin') AND fleet.may_see(a, p_team, p_need_teams)
            AND (cardinality(p_need_teams) = 0 OR '*' = ANY (a.teams) OR p_need_teams && a.teams)
            AND lower(p_requester) NOT IN (lower(a.id), lower(a.login))
        ORDER BY a.id LIMIT 50) AS found
$$;

-- The waiting calls that this person may see, the oldest first: 100 of them, 4 MB of entries; `all`: how many there are.
CREATE FUNCTION fleet.page_waiting(p_session bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
BEGIN
    RETURN jsonb_build_object(
        'all', (SELECT count(*) FROM fleet.held AS h JOIN fleet.gateway AS g ON g.id = h.gateway
            WHERE h.expires > clock_timestamp() AND g.state = 'admitted' AND fleet.may_see(v_person, g.team, h.need_teams)),
        'server_time', fleet.epoch(clock_timestamp()),
        'calls', (
        SELECT coalesce(jsonb_agg(fleet.with_gateway(fleet.held_json(s.h, s.size <= 4194304), s.g, v_person)
            || jsonb_build_object('may_approve', fleet.page_may_approve((s.g).team, (s.h).need_teams, (s.h).requester))
            ORDER BY (s.h).created, (s.h).nonce), '[]')
        FROM (
            SELECT held AS h, gw AS g, sum(octet_length(held.entry)) OVER (ORDER BY held.created, held.nonce) AS size
            FROM fleet.held JOIN fleet.gateway AS gw ON gw.id = held.gateway
            WHERE held.expires > clock_timestamp() AND gw.state = 'admitted'
                AND fleet.may_see(v_person, gw.team, held.need_teams)
            ORDER BY held.created, held.nonce LIMIT 100
        ) AS s));
END $$;

-- The calls that are over, the latest first: at most 100.
CREATE FUNCTION fleet.page_closed(p_session bytea, p_hours integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
    v_since timestamptz;
BEGIN
    IF p_hours IS NULL OR p_hours NOT BETWEEN 1 AND 2160 THEN
        RAISE EXCEPTION 'hours must be 1 to 2160' USING ERRCODE = '22023';
    END IF;
    v_since := clock_timestamp() - make_interval(hours => p_hours);
    RETURN (SELECT coalesce(jsonb_agg(fleet.with_gateway(fleet.closed_json(s.c, s.size <= 4194304), s.g, v_person)
            ORDER BY (s.c).decided DESC, (s.c).nonce), '[]')
        FROM (
            SELECT held_closed AS c, gw AS g,
                sum(octet_length(held_closed.entry)) OVER (ORDER BY held_closed.decided DESC, held_closed.nonce) AS size
            FROM fleet.held_closed JOIN fleet.gateway AS gw ON gw.id = held_closed.gateway
            WHERE held_closed.day >= fleet.utc_day(v_since) AND held_closed.decided > v_since
                AND fleet.may_see(v_person, gw.team, held_closed.need_teams)
            ORDER BY held_closed.decided DESC, held_closed.nonce LIMIT 100
        ) AS s);
END $$;

-- As `spending`, with the totals of the period.
CREATE FUNCTION fleet.page_costs(p_session bytea, p_hours integer, p_by text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
BEGIN
    RETURN jsonb_build_object('totals', fleet.totals(p_hours), 'rows', (
        SELECT coalesce(jsonb_agg(to_jsonb(s)), '[]') FROM (SELECT * FROM fleet.spending(p_hours, p_by) LIMIT 200) AS s));
END $$;

-- As `audit_lines`: at most 100.
CREATE FUNCTION fleet.page_audit(p_session bytea, p_filters jsonb, p_before bigint) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
BEGIN
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('number', l.number, 'gateway', l.gateway, 'team', l.team, 'seq', l.seq,
            'stored', fleet.epoch(l.stored), 'line', translate(encode(substring(l.line FROM 1 FOR 8192), 'base64'), E'\n', ''))
            ORDER BY l.number DESC), '[]')
        FROM fleet.audit_lines(p_filters, p_before, 100) AS l);
END $$;

-- Of the database, not of a team. `partitions`: the days for which there are partitions, and the rows (estimated) that fell
-- into the default partition because there was none.
CREATE FUNCTION fleet.page_health(p_session bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
BEGIN
    RETURN fleet.schema_version() || jsonb_build_object(
        'server', current_setting('server_version'),
        'size', pg_database_size(current_database()),
        'connections', (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),
        'most_connections', current_setting('max_connections')::integer,
        'durable', current_setting('synchronous_commit') <> 'off' AND current_setting('fsync') = 'on',
        'standbys', current_setting('synchronous_standby_names') <> '',
        'partitions', (SELECT coalesce(jsonb_agg(jsonb_build_object('table', r.table_name, 'keep_days', r.keep_days,
            'ahead', (SELECT max(to_date(right(c.relname, 8), 'YYYYMMDD')) - fleet.utc_day(clock_timestamp())
                FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
                WHERE i.inhparent = to_regclass(format('fleet.%I', r.table_name)) AND c.relname ~ '_[0-9]{8}$'),
            'size', (SELECT coalesce(sum(pg_total_relation_size(i.inhrelid)), 0)
                FROM pg_inherits AS i WHERE i.inhparent = to_regclass(format('fleet.%I', r.table_name))),
            'astray', (SELECT greatest(c.reltuples, 0)::bigint FROM pg_class AS c
                WHERE c.oid = to_regclass(format('fleet.%I', r.table_name || '_default')))) ORDER BY r.table_name), '[]')
            FROM fleet.retention AS r));
END $$;

-- What may be done ----------------------------------------------------------------------------------------------------

-- A no. A yes takes a signature, which this page cannot make.
CREATE FUNCTION fleet.page_deny(p_session bytea, p_gateway text, p_nonce text, p_why text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
BEGIN
    PERFORM fleet.decide(p_gateway, p_nonce, 'denied', '', '', p_why);
    RETURN 'true';
END $$;

-- The kill switch of a team; `*`: of the whole fleet. Approvers may turn it on, admins off.
CREATE FUNCTION fleet.page_kill(p_session bytea, p_team text, p_on boolean, p_why text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
BEGIN
    PERFORM fleet.kill(p_team, p_on, p_why);
    RETURN 'true';
END $$;

GRANT EXECUTE ON FUNCTION fleet.page_login, fleet.page_enter, fleet.page_logout, fleet.page_me, fleet.page_teams,
    fleet.page_gateways, fleet.page_waiting, fleet.page_closed, fleet.page_costs, fleet.page_audit, fleet.page_health,
    fleet.page_deny, fleet.page_kill TO toolguard_page;

-- Admins ------------------------------------------------------------------------------------------------------------

CREATE FUNCTION fleet.page_token_json(p_token fleet.page_token) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT jsonb_build_object('id', p_token.id, 'person', p_token.person, 'created', fleet.epoch(p_token.created),
        'created_by', p_token.created_by, 'expires', fleet.epoch(p_token.expires), 'used', fleet.epoch(p_token.used),
        'revoked', fleet.epoch(p_token.revoked), 'revoked_by', p_token.revoked_by,
        'valid', p_token.revoked IS NULL AND p_token.expires > clock_timestamp())
$$;

-- Raises TG010, TG011. The admin must be responsible for all teams of the person.
CREATE FUNCTION fleet.demand_person(p_admin fleet.approver, p_id text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver;
BEGIN
    SELECT * INTO v_person FROM fleet.approver WHERE id = p_id;
    IF NOT FOUND OR v_person.revoked IS NOT NULL THEN
        RAISE EXCEPTION 'no such person in the fleet' USING ERRCODE = 'TG010';
    ELSIF NOT ('*' = ANY (p_admin.teams)) AND NOT (v_person.teams <@ p_admin.teams) THEN
        RAISE EXCEPTION 'not responsible for all teams of this person' USING ERRCODE = 'TG011';
    END IF;
END $$;

CREATE FUNCTION fleet.add_page_token(p_person text, p_hash bytea, p_days integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_admin fleet.approver := fleet.admin();
    v_token fleet.page_token;
BEGIN
    PERFORM fleet.check_bytes('the token''s hash', p_hash, 32, 32);
    IF p_days IS NULL OR p_days NOT BETWEEN 1 AND 366 THEN
        RAISE EXCEPTION 'a token is valid for 1 to 366 days' USING ERRCODE = '22023';
    END IF;
    PERFORM fleet.demand_person(v_admin, p_person);
    IF (SELECT count(*) FROM fleet.page_token WHERE person = p_person AND revoked IS NULL AND expires > clock_timestamp()) >= 20
    THEN
        RAISE EXCEPTION 'this person has 20 valid tokens: revoke one first' USING ERRCODE = '22023';
    END IF;
    INSERT INTO fleet.page_token (id, hash, person, created_by, expires)
        VALUES ('tok-' || encode(substring(p_hash FROM 1 FOR 6), 'hex'), p_hash, p_person, v_admin.id,
            clock_timestamp() + make_interval(days => p_days))
        RETURNING * INTO v_token;
    INSERT INTO fleet.event (kind, who, detail) VALUES ('page-token', v_admin.id, format('%s for %s', v_token.id, p_person));
    RETURN fleet.page_token_json(v_token);
END $$;

CREATE FUNCTION fleet.revoke_page_token(p_id text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_admin fleet.approver := fleet.admin();
    v_token fleet.page_token;
BEGIN
    SELECT * INTO v_token FROM fleet.page_token WHERE id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no such token' USING ERRCODE = '22023';
    END IF;
    IF NOT ('*' = ANY (v_admin.teams))
        AND NOT (SELECT a.teams <@ v_admin.teams FROM fleet.approver AS a WHERE a.id = v_token.person)
    THEN
        RAISE EXCEPTION 'not responsible for all teams of this person' USING ERRCODE = 'TG011';
    ELSIF v_token.revoked IS NULL THEN
        UPDATE fleet.page_token SET revoked = clock_timestamp(), revoked_by = v_admin.id WHERE id = p_id
            RETURNING * INTO v_token;
        DELETE FROM fleet.page_session WHERE token = p_id;
        INSERT INTO fleet.event (kind, who, detail) VALUES ('page-token-revoked', v_admin.id, p_id);
    END IF;
    RETURN fleet.page_token_json(v_token);
END $$;

CREATE FUNCTION fleet.page_tokens() RETURNS SETOF jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_admin fleet.approver := fleet.admin();
BEGIN
    RETURN QUERY SELECT fleet.page_token_json(t) FROM fleet.page_token AS t JOIN fleet.approver AS a ON a.id = t.person
        WHERE '*' = ANY (v_admin.teams) OR a.teams <@ v_admin.teams ORDER BY t.created DESC LIMIT 1000;
END $$;

-- Whether a reverse proxy may log persons in by their name alone. Off: a token is needed.
CREATE FUNCTION fleet.set_page_proxy(p_on boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_admin fleet.approver := fleet.admin();
BEGIN
    PERFORM fleet.demand_team(v_admin, '*');
    UPDATE fleet.page_setting SET proxy = coalesce(p_on, false);
    DELETE FROM fleet.page_session WHERE token IS NULL AND NOT coalesce(p_on, false);
    INSERT INTO fleet.event (kind, who, detail) VALUES ('page-proxy', v_admin.id, CASE WHEN p_on THEN 'on' ELSE 'off' END);
END $$;
GRANT EXECUTE ON FUNCTION fleet.add_page_token, fleet.revoke_page_token, fleet.page_tokens, fleet.set_page_proxy
    TO toolguard_admin;
