-- Who takes part: gateways, persons, teams. Everything else refers to these tables.
--
-- Nobody but the owner has rights on tables. All access is by functions: SECURITY DEFINER, with a fixed search_path and
-- qualified names. `schema.migrate` revokes EXECUTE from PUBLIC on every function after each migration.
--
-- SQLSTATEs: TG001 unknown gateway or wrong token, TG002 not admitted, TG003 revoked, TG010 no such person or role,
-- TG011 not your team, TG012 refused (the detail is the cause), TG020 too many new gateways, 22023 invalid argument.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'toolguard_gateway') THEN
        -- Gateways that open as many connections as they can leave some to persons.
        EXECUTE format('CREATE ROLE toolguard_gateway LOGIN CONNECTION LIMIT %s',
            greatest(10, pg_catalog.current_setting('max_connections')::integer * 8 / 10));
        GRANT toolguard_gateway TO CURRENT_USER; -- `maintain` ends sessions that hold a transaction open
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'toolguard_approver') THEN
        CREATE ROLE toolguard_approver NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'toolguard_admin') THEN
        CREATE ROLE toolguard_admin NOLOGIN;
        GRANT toolguard_approver TO toolguard_admin;
    END IF;
END $$;

GRANT USAGE ON SCHEMA fleet TO toolguard_gateway, toolguard_approver, toolguard_admin;

CREATE TABLE fleet.gateway (
    id text PRIMARY KEY,
    team text NOT NULL,
    token_hash bytea NOT NULL,
    state text NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'admitted', 'revoked')),
    host text NOT NULL DEFAULT '',
    joined timestamptz NOT NULL DEFAULT clock_timestamp(),
    decided_by text NOT NULL DEFAULT '',
    decided timestamptz
);

-- What a gateway writes itself, apart from `gateway`: a gateway that keeps its row locked cannot keep an admin from revoking
-- it. Its questions take turns by this row.
CREATE TABLE fleet.contact (
    gateway text PRIMARY KEY REFERENCES fleet.gateway ON DELETE CASCADE,
    version text NOT NULL DEFAULT '',
    seen timestamptz NOT NULL DEFAULT clock_timestamp(),
    left_at timestamptz,
    quarantined timestamptz -- a second version of its audit log was found (`audit_append`)
) WITH (fillfactor = 50);

CREATE TABLE fleet.approver (
    id text PRIMARY KEY,
    login text NOT NULL UNIQUE,
    teams text[] NOT NULL,
    role text NOT NULL CHECK (role IN ('viewer', 'approver', 'admin')),
    added timestamptz NOT NULL DEFAULT clock_timestamp(),
    added_by text NOT NULL,
    revoked timestamptz,
    revoked_by text NOT NULL DEFAULT ''
);

-- The team '*' is the whole fleet: its kill switch stops every gateway, its policy is for teams that have none.
CREATE TABLE fleet.team_state (
    team text PRIMARY KEY,
    kill boolean NOT NULL DEFAULT false,
    kill_why text NOT NULL DEFAULT '',
    kill_by text NOT NULL DEFAULT '',
    kill_at timestamptz,
    policy_version integer NOT NULL DEFAULT 0
);
INSERT INTO fleet.team_state (team) VALUES ('*');

-- What was done to the registry, and what the database itself refused or noticed. Insert only.
CREATE TABLE fleet.event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind text NOT NULL,
    team text NOT NULL DEFAULT '',
    gateway text NOT NULL DEFAULT '',
    who text NOT NULL DEFAULT '',
    detail text NOT NULL DEFAULT ''
);
CREATE INDEX event_at ON fleet.event (at);

-- Partitioned tables that `maintain` looks after: partitions by the date column `day`, dropped after keep_days.
CREATE TABLE fleet.retention (
    table_name text PRIMARY KEY,
    keep_days integer NOT NULL CHECK (keep_days BETWEEN 2 AND 3660)
);

-- Arguments ---------------------------------------------------------------------------------------------------------

CREATE FUNCTION fleet.check_text(p_name text, p_value text, p_least integer, p_most integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    IF p_value IS NULL OR octet_length(p_value) NOT BETWEEN p_least AND p_most THEN
        RAISE EXCEPTION '% must have % to % bytes', p_name, p_least, p_most USING ERRCODE = '22023';
    END IF;
END $$;

CREATE FUNCTION fleet.check_bytes(p_name text, p_value bytea, p_least integer, p_most integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    IF p_value IS NULL OR octet_length(p_value) NOT BETWEEN p_least AND p_most THEN
        RAISE EXCEPTION '% must have % to % bytes', p_name, p_least, p_most USING ERRCODE = '22023';
    END IF;
END $$;

CREATE FUNCTION fleet.check_team(p_team text, p_all boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    IF p_team IS NULL OR NOT (p_team ~ '^[a-z0-9][a-z0-9._-]{0,62}$' OR (p_all AND p_team = '*')) THEN
        RAISE EXCEPTION 'a team is 1 to 63 of a-z, 0-9, ".", "_", "-", and begins with a letter or digit'
            USING ERRCODE = '22023';
    END IF;
END $$;

CREATE FUNCTION fleet.check_teams(p_teams text[], p_all boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_team text;
BEGIN
    IF p_teams IS NULL OR cardinality(p_teams) > 32 OR array_ndims(p_teams) > 1 THEN
        RAISE EXCEPTION 'teams must be a list of at most 32' USING ERRCODE = '22023';
    END IF;
    FOREACH v_team IN ARRAY p_teams LOOP
        PERFORM fleet.check_team(v_team, p_all);
    END LOOP;
END $$;

-- Who asks ----------------------------------------------------------------------------------------------------------

CREATE FUNCTION fleet.gateway_of(p_gateway text, p_token bytea) RETURNS fleet.gateway
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_gateway fleet.gateway;
BEGIN
    SELECT * INTO v_gateway FROM fleet.gateway WHERE id = p_gateway;
    IF NOT FOUND OR octet_length(p_token) IS DISTINCT FROM 32 OR sha256(p_token) IS DISTINCT FROM v_gateway.token_hash THEN
        RAISE EXCEPTION 'unknown gateway, or not its token' USING ERRCODE = 'TG001';
    ELSIF v_gateway.state = 'new' THEN
        RAISE EXCEPTION 'the gateway is not admitted yet' USING ERRCODE = 'TG002';
    ELSIF EXISTS (SELECT FROM fleet.contact WHERE gateway = p_gateway AND quarantined IS NOT NULL) THEN
        RAISE EXCEPTION 'the gateway is in quarantine: a second version of its audit log was found' USING ERRCODE = 'TG002';
    ELSIF v_gateway.state <> 'admitted' OR EXISTS (SELECT FROM fleet.contact WHERE gateway = p_gateway AND left_at IS NOT NULL)
    THEN
        RAISE EXCEPTION 'the gateway is revoked' USING ERRCODE = 'TG003';
    END IF;
    RETURN v_gateway;
END $$;

-- Whether the session is the owner's: it could change the tables anyway.
CREATE FUNCTION fleet.is_owner() RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT pg_has_role(session_user, nspowner, 'MEMBER') FROM pg_namespace WHERE nspname = 'fleet'
$$;

-- The person of this session. `session_user` cannot be changed by SET ROLE.
CREATE FUNCTION fleet.person() RETURNS fleet.approver
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver;
BEGIN
    SELECT * INTO v_person FROM fleet.approver WHERE login = session_user AND revoked IS NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the login % is not registered as a person of this fleet', quote_ident(session_user)
            USING ERRCODE = 'TG010';
    END IF;
    RETURN v_person;
END $$;

-- A person with the role `admin`, or the owner, who is responsible for all teams.
CREATE FUNCTION fleet.admin() RETURNS fleet.approver
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver;
BEGIN
    SELECT * INTO v_person FROM fleet.approver WHERE login = session_user AND revoked IS NULL AND role = 'admin';
    IF FOUND THEN
        RETURN v_person;
    ELSIF fleet.is_owner() THEN
        v_person.id := session_user;
        v_person.login := session_user;
        v_person.role := 'admin';
        v_person.teams := '{*}';
        RETURN v_person;
    END IF;
    RAISE EXCEPTION 'the login % is not an admin of this fleet', quote_ident(session_user) USING ERRCODE = 'TG010';
END $$;

CREATE FUNCTION fleet.covers(p_person fleet.approver, p_team text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT coalesce(p_team = ANY (p_person.teams) OR '*' = ANY (p_person.teams), false)
$$;

CREATE FUNCTION fleet.demand_team(p_person fleet.approver, p_team text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    IF NOT fleet.covers(p_person, p_team) THEN
        RAISE EXCEPTION 'not responsible for the team %', quote_ident(p_team) USING ERRCODE = 'TG011';
    END IF;
END $$;

CREATE FUNCTION fleet.seconds_until(p_at timestamptz) RETURNS double precision
LANGUAGE sql VOLATILE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT extract(epoch FROM p_at - clock_timestamp())::double precision
$$;

CREATE FUNCTION fleet.epoch(p_at timestamptz) RETURNS double precision
LANGUAGE sql STABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT extract(epoch FROM p_at)::double precision
$$;

-- `oldest_client`: clients that know a lower version than this cannot work with the schema.
CREATE FUNCTION fleet.schema_version() RETURNS jsonb
LANGUAGE sql SECURITY DEFINER STABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT jsonb_build_object('version', coalesce(max(number), 0), 'oldest_client', coalesce(max(oldest_client), 1)) FROM fleet.migration
$$;
GRANT EXECUTE ON FUNCTION fleet.schema_version() TO toolguard_gateway, toolguard_approver, toolguard_admin;

-- Gateways ----------------------------------------------------------------------------------------------------------

CREATE FUNCTION fleet.join(p_gateway text, p_token_hash bytea, p_team text, p_host text, p_version text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_known fleet.gateway;
BEGIN
    IF p_gateway IS NULL OR p_gateway !~ '^gw-[0-9a-f]{16}$' THEN
        RAISE EXCEPTION 'a gateway id is gw- and 16 hex digits' USING ERRCODE = '22023';
    END IF;
    PERFORM fleet.check_bytes('the token''s hash', p_token_hash, 32, 32);
    PERFORM fleet.check_team(p_team);
    PERFORM fleet.check_text('host', p_host, 0, 255);
    PERFORM fleet.check_text('version', p_version, 0, 64);
    SELECT * INTO v_known FROM fleet.gateway WHERE id = p_gateway;
    IF NOT FOUND THEN
        IF (SELECT count(*) FROM (SELECT FROM fleet.gateway WHERE state = 'new' LIMIT 1000) AS waiting) >= 1000 THEN
            RAISE EXCEPTION '1,000 gateways wait to be admitted: admit or revoke some first' USING ERRCODE = 'TG020';
        END IF;
        INSERT INTO fleet.gateway (id, team, token_hash, host) VALUES (p_gateway, p_team, p_token_hash, p_host)
            ON CONFLICT (id) DO NOTHING;
        INSERT INTO fleet.contact (gateway, version) VALUES (p_gateway, p_version) ON CONFLICT (gateway) DO NOTHING;
        SELECT * INTO v_known FROM fleet.gateway WHERE id = p_gateway;
        INSERT INTO fleet.event (kind, team, gateway, detail) VALUES ('join', p_team, p_gateway, p_host);
    END IF;
    IF v_known.token_hash <> p_token_hash THEN
        RAISE EXCEPTION 'another gateway has this id' USING ERRCODE = 'TG001';
    ELSIF v_known.state = 'new' THEN
        UPDATE fleet.gateway SET team = p_team, host = p_host WHERE id = p_gateway AND state = 'new';
        UPDATE fleet.contact SET version = p_version, seen = clock_timestamp() WHERE gateway = p_gateway;
    END IF;
    IF EXISTS (SELECT FROM fleet.contact WHERE gateway = p_gateway AND left_at IS NOT NULL) THEN
        RETURN 'left';
    END IF;
    RETURN v_known.state;
END $$;
GRANT EXECUTE ON FUNCTION fleet.join TO toolguard_gateway;

-- A gateway that leaves by itself. It can join again only with a new id.
CREATE FUNCTION fleet.leave(p_gateway text, p_token bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_gateway fleet.gateway;
BEGIN
    SELECT * INTO v_gateway FROM fleet.gateway WHERE id = p_gateway;
    IF NOT FOUND OR octet_length(p_token) IS DISTINCT FROM 32 OR sha256(p_token) IS DISTINCT FROM v_gateway.token_hash THEN
        RAISE EXCEPTION 'unknown gateway, or not its token' USING ERRCODE = 'TG001';
    END IF;
    UPDATE fleet.contact SET left_at = clock_timestamp() WHERE gateway = p_gateway AND left_at IS NULL;
    IF FOUND THEN
        INSERT INTO fleet.event (kind, team, gateway) VALUES ('leave', v_gateway.team, p_gateway);
    END IF;
END $$;
GRANT EXECUTE ON FUNCTION fleet.leave TO toolguard_gateway;

CREATE FUNCTION fleet.gateway_json(p_gateway fleet.gateway) RETURNS jsonb
LANGUAGE sql VOLATILE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT jsonb_build_object('id', p_gateway.id, 'team', p_gateway.team,
        'state', CASE WHEN left_at IS NOT NULL THEN 'left'
            WHEN quarantined IS NOT NULL AND p_gateway.state = 'admitted' THEN 'quarantined' ELSE p_gateway.state END, 'host', p_gateway.host,
        'version', version, 'joined', fleet.epoch(p_gateway.joined), 'seen', fleet.epoch(seen),
        'silent', -fleet.seconds_until(seen), 'decided_by', p_gateway.decided_by,
        'fingerprint', encode(substring(p_gateway.token_hash FROM 1 FOR 8), 'hex'))
    FROM fleet.contact WHERE gateway = p_gateway.id
$$;

-- Persons -----------------------------------------------------------------------------------------------------------

CREATE FUNCTION fleet.whoami() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver;
BEGIN
    IF fleet.is_owner() AND NOT EXISTS (SELECT FROM fleet.approver WHERE login = session_user AND revoked IS NULL) THEN
        v_person := fleet.admin();
    ELSE
        v_person := fleet.person();
    END IF;
    RETURN jsonb_build_object('id', v_person.id, 'login', v_person.login, 'role', v_person.role, 'teams', v_person.teams,
        'server_time', fleet.epoch(clock_timestamp()));
END $$;
GRANT EXECUTE ON FUNCTION fleet.whoami TO toolguard_approver;

-- The gateways that this person may see, the newest first, at most 20,000.
CREATE FUNCTION fleet.gateways() RETURNS SETOF jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver;
BEGIN
    IF fleet.is_owner() THEN
        v_person := fleet.admin();
    ELSE
        v_person := fleet.person();
    END IF;
    RETURN QUERY SELECT fleet.gateway_json(g) FROM fleet.gateway AS g WHERE fleet.covers(v_person, g.team)
        ORDER BY g.joined DESC LIMIT 20000;
END $$;
GRANT EXECUTE ON FUNCTION fleet.gateways TO toolguard_approver;

-- Admins ------------------------------------------------------------------------------------------------------------

CREATE FUNCTION fleet.admit(p_gateway text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_person fleet.approver := fleet.admin();
    v_gateway fleet.gateway;
BEGIN
    SELECT * INTO v_gateway FROM fleet.gateway WHERE id = p_gateway FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no such gateway' USING ERRCODE = 'TG001';
    END IF;
    PERFORM fleet.demand_team(v_person, v_gateway.team);
    IF v_gateway.state = 'revoked' THEN
        RAISE EXCEPTION 'the gateway is revoked: it must join again, with a new id' USING ERRCODE = 'TG003';
    ELSIF v_gateway.state = 'new' THEN
        UPDATE fleet.gateway SET state = 'admitted', decided_by = v_person.id, decided = clock_timestamp()
            WHERE id = p_gateway RETURNING * INTO v_gateway;
        INSERT INTO fleet.team_state (team) VALUES (v_gateway.team) ON CONFLICT DO NOTHING;
        INSERT INTO fleet.event (kind, team, gateway, who) VALUES ('admit', v_gateway.team, p_gateway, v_person.id);
        ANALYZE (SKIP_LOCKED) fleet.gateway;  -- sync derives its pace from it, also before the first autovacuum
    END IF;
    UPDATE fleet.contact SET quarantined = NULL WHERE gateway = p_gateway AND quarantined IS NOT NULL;
    IF FOUND THEN
        INSERT INTO fleet.event (kind, team, gateway, who, detail)
            VALUES ('admit', v_gateway.team, p_gateway, v_person.id, 'ended the quarantine');
    END IF;
    RETURN fleet.gateway_json(v_gateway);
END $$;
GRANT EXECUTE ON FUNCTION fleet.admit TO toolguard_admin;

CREATE FUNCTION fleet.revoke_gateway(p_gateway text, p_why text DEFAULT '') RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_person fleet.approver := fleet.admin();
    v_gateway fleet.gateway;
BEGIN
    PERFORM fleet.check_text('why', p_why, 0, 500);
    SELECT * INTO v_gateway FROM fleet.gateway WHERE id = p_gateway FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no such gateway' USING ERRCODE = 'TG001';
    END IF;
    PERFORM fleet.demand_team(v_person, v_gateway.team);
    IF v_gateway.state <> 'revoked' THEN
        UPDATE fleet.gateway SET state = 'revoked', decided_by = v_person.id, decided = clock_timestamp()
            WHERE id = p_gateway RETURNING * INTO v_gateway;
        INSERT INTO fleet.event (kind, team, gateway, who, detail)
            VALUES ('revoke', v_gateway.team, p_gateway, v_person.id, p_why);
    END IF;
    RETURN fleet.gateway_json(v_gateway);
END $$;
GRANT EXECUTE ON FUNCTION fleet.revoke_gateway TO toolguard_admin;

CREATE FUNCTION fleet.approver_json(p_person fleet.approver) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT jsonb_build_object('id', p_person.id, 'login', p_person.login, 'role', p_person.role, 'teams', p_person.teams,
        'added', fleet.epoch(p_person.added), 'added_by', p_person.added_by, 'revoked', fleet.epoch(p_person.revoked),
        'revoked_by', p_person.revoked_by)
$$;

CREATE FUNCTION fleet.approvers() RETURNS SETOF jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver;
BEGIN
    IF fleet.is_owner() THEN
        v_person := fleet.admin();
    ELSE
        v_person := fleet.person();
    END IF;
    RETURN QUERY SELECT fleet.approver_json(a) FROM fleet.approver AS a
        WHERE '*' = ANY (v_person.teams) OR a.teams && v_person.teams OR '*' = ANY (a.teams) ORDER BY a.id LIMIT 10000;
END $$;
GRANT EXECUTE ON FUNCTION fleet.approvers TO toolguard_approver;

-- Whether a login is, or inherits from, the gateways' login: what a gateway knows must not be able to approve.
CREATE FUNCTION fleet.is_gateway_login(p_login text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    WITH RECURSIVE has AS (
        SELECT oid FROM pg_roles WHERE rolname = p_login
        UNION
        SELECT m.roleid FROM pg_auth_members AS m JOIN has ON m.member = has.oid
    )
    SELECT EXISTS (SELECT FROM has JOIN pg_roles AS r USING (oid) WHERE r.rolname = 'toolguard_gateway')
$$;

-- Registers a person, or changes role and teams of one. With p_verifier (a SCRAM verifier) the login is created; without,
-- it must exist.
CREATE FUNCTION fleet.add_approver(p_id text, p_login text, p_role text, p_teams text[], p_verifier text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_admin fleet.approver := fleet.admin();
    v_known fleet.approver;
    v_person fleet.approver;
BEGIN
    IF p_id IS NULL OR p_id !~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$' THEN
        RAISE EXCEPTION 'a person''s id is 1 to 128 of letters, digits and ._@+-' USING ERRCODE = '22023';
    ELSIF p_login IS NULL OR p_login !~ '^[a-z_][a-z0-9_.@-]{0,62}$' OR p_login LIKE 'pg\_%' THEN
        RAISE EXCEPTION 'a login is 1 to 63 of a-z, 0-9 and _.@-' USING ERRCODE = '22023';
    ELSIF p_role IS NULL OR p_role NOT IN ('viewer', 'approver', 'admin') THEN
        RAISE EXCEPTION 'a role is viewer, approver or admin' USING ERRCODE = '22023';
    END IF;
    PERFORM fleet.check_teams(p_teams, true);
    IF cardinality(p_teams) = 0 THEN
        RAISE EXCEPTION 'a person needs a team' USING ERRCODE = '22023';
    END IF;
    SELECT * INTO v_known FROM fleet.approver WHERE id = p_id FOR UPDATE;
    IF NOT ('*' = ANY (v_admin.teams)) AND NOT (p_teams || coalesce(v_known.teams, '{}') <@ v_admin.teams) THEN
        RAISE EXCEPTION 'not responsible for all of these teams' USING ERRCODE = 'TG011';
    ELSIF v_known.id IS NOT NULL AND v_known.login <> p_login THEN
        RAISE EXCEPTION 'the person has the login %: revoke and use another id', quote_ident(v_known.login)
            USING ERRCODE = '22023';
    ELSIF EXISTS (SELECT FROM fleet.approver WHERE login = p_login AND id <> p_id) THEN
        RAISE EXCEPTION 'the login belongs to another person' USING ERRCODE = '22023';
    ELSIF p_login IN ('toolguard_gateway', 'toolguard_approver', 'toolguard_admin') OR fleet.is_gateway_login(p_login) THEN
        RAISE EXCEPTION 'this login cannot be a person''s' USING ERRCODE = '22023';
    END IF;
    IF p_verifier IS NOT NULL THEN
        IF p_verifier !~ '^SCRAM-SHA-256\$[0-9]{4,6}:[A-Za-z0-9+/=]{16,64}\$[A-Za-z0-9+/=]{44}:[A-Za-z0-9+/=]{44}$' THEN
            RAISE EXCEPTION 'the password must be given as a SCRAM-SHA-256 verifier' USING ERRCODE = '22023';
        ELSIF EXISTS (SELECT FROM pg_roles WHERE rolname = p_login) THEN
            RAISE EXCEPTION 'the login exists already' USING ERRCODE = '22023';
        END IF;
        EXECUTE format('CREATE ROLE %I LOGIN PASSWORD %L CONNECTION LIMIT 20', p_login, p_verifier);
        EXECUTE format('ALTER ROLE %I SET statement_timeout = %L', p_login, '30s');
        EXECUTE format('ALTER ROLE %I SET lock_timeout = %L', p_login, '2s');
        EXECUTE format('ALTER ROLE %I SET idle_in_transaction_session_timeout = %L', p_login, '30s');
    ELSIF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = p_login AND rolcanlogin) THEN
        RAISE EXCEPTION 'there is no login %', quote_ident(p_login) USING ERRCODE = 'TG010';
    END IF;
    INSERT INTO fleet.approver (id, login, teams, role, added_by) VALUES (p_id, p_login, p_teams, p_role, v_admin.id)
        ON CONFLICT (id) DO UPDATE SET teams = excluded.teams, role = excluded.role, added = clock_timestamp(),
            added_by = excluded.added_by, revoked = NULL, revoked_by = ''
        RETURNING * INTO v_person;
    IF p_role = 'admin' THEN
        EXECUTE format('GRANT toolguard_admin TO %I', p_login);
    ELSE
        EXECUTE format('GRANT toolguard_approver TO %I', p_login);
        EXECUTE format('REVOKE toolguard_admin FROM %I', p_login);
    END IF;
    INSERT INTO fleet.event (kind, who, detail)
        VALUES ('approver', v_admin.id, format('%s %s %s', p_id, p_role, array_to_string(p_teams, ',')));
    RETURN fleet.approver_json(v_person);
END $$;
GRANT EXECUTE ON FUNCTION fleet.add_approver TO toolguard_admin;

CREATE FUNCTION fleet.revoke_approver(p_id text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_admin fleet.approver := fleet.admin();
    v_person fleet.approver;
BEGIN
    SELECT * INTO v_person FROM fleet.approver WHERE id = p_id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no such person' USING ERRCODE = 'TG010';
    ELSIF NOT ('*' = ANY (v_admin.teams)) AND NOT (v_person.teams <@ v_admin.teams) THEN
        RAISE EXCEPTION 'not responsible for all teams of this person' USING ERRCODE = 'TG011';
    ELSIF v_person.revoked IS NULL THEN
        UPDATE fleet.approver SET revoked = clock_timestamp(), revoked_by = v_admin.id WHERE id = p_id
            RETURNING * INTO v_person;
        INSERT INTO fleet.event (kind, who, detail) VALUES ('approver-revoked', v_admin.id, p_id);
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = v_person.login) THEN
        EXECUTE format('REVOKE toolguard_admin, toolguard_approver FROM %I', v_person.login);
    END IF;
    RETURN fleet.approver_json(v_person);
END $$;
GRANT EXECUTE ON FUNCTION fleet.revoke_approver TO toolguard_admin;

-- Partitions --------------------------------------------------------------------------------------------------------

-- Creates partitions for days ahead and drops those that are over; the names of what it created and dropped. A day of
-- which the default partition has rows stays there, and its rows are deleted when they are over.
CREATE FUNCTION fleet.maintain_partitions(p_ahead integer DEFAULT 30) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    v_kept fleet.retention;
    v_day date;
    v_name text;
    v_used boolean;
    v_created text[] := '{}';
    v_dropped text[] := '{}';
BEGIN
    -- One at a time; but questions queue behind what waits for a partitioned table, so that is not waited for long.
    PERFORM set_config('lock_timeout', '60s', true);
    LOCK TABLE fleet.retention IN SHARE ROW EXCLUSIVE MODE;
    PERFORM set_config('lock_timeout', '2s', true);
    FOR v_kept IN SELECT * FROM fleet.retention ORDER BY table_name LOOP
        FOR v_day IN SELECT v_today + n FROM generate_series(-1, p_ahead) AS n LOOP
            v_name := v_kept.table_name || '_' || to_char(v_day, 'YYYYMMDD');
            CONTINUE WHEN to_regclass(format('fleet.%I', v_name)) IS NOT NULL;
            EXECUTE format('SELECT EXISTS (SELECT FROM fleet.%I WHERE day = %L)', v_kept.table_name || '_default', v_day)
                INTO v_used;
            CONTINUE WHEN v_used;
            EXECUTE format('CREATE TABLE fleet.%I PARTITION OF fleet.%I FOR VALUES FROM (%L) TO (%L)',
                v_name, v_kept.table_name, v_day, v_day + 1);
            v_created := v_created || v_name;
        END LOOP;
        FOR v_name IN
            SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
            WHERE i.inhparent = to_regclass(format('fleet.%I', v_kept.table_name)) AND c.relname ~ '_[0-9]{8}$'
                AND right(c.relname, 8) < to_char(v_today - v_kept.keep_days, 'YYYYMMDD')
        LOOP
            EXECUTE format('DROP TABLE fleet.%I', v_name);
            v_dropped := v_dropped || v_name;
        END LOOP;
        EXECUTE format('DELETE FROM fleet.%I WHERE day < %L', v_kept.table_name || '_default', v_today - v_kept.keep_days);
    END LOOP;
    RETURN jsonb_build_object('created', to_jsonb(v_created), 'dropped', to_jsonb(v_dropped));
END $$;

CREATE FUNCTION fleet.set_retention(p_table text, p_days integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_admin fleet.approver := fleet.admin();
BEGIN
    PERFORM fleet.demand_team(v_admin, '*');
    IF p_days IS NULL OR p_days NOT BETWEEN 2 AND 3660 THEN
        RAISE EXCEPTION 'days must be 2 to 3660' USING ERRCODE = '22023';
    END IF;
    UPDATE fleet.retention SET keep_days = p_days WHERE table_name = p_table;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no such table: %', (SELECT string_agg(table_name, ', ' ORDER BY table_name) FROM fleet.retention)
            USING ERRCODE = '22023';
    END IF;
    INSERT INTO fleet.event (kind, who, detail) VALUES ('retention', v_admin.id, format('%s %s', p_table, p_days));
END $$;
GRANT EXECUTE ON FUNCTION fleet.set_retention TO toolguard_admin;
