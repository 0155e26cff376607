-- Signed policies of teams, and the kill switch. The signature is verified by the gateways: the server checks sizes, and that
-- versions grow. A gateway that is given a lower version, or another text, keeps the one that it has.
--
-- SQLSTATE TG030: the version does not grow; the detail is the one that is in force.

CREATE TABLE fleet.policy (
    team text NOT NULL,
    version integer NOT NULL CHECK (version >= 1),
    toml bytea NOT NULL,
    signature bytea NOT NULL,
    by text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (team, version)
);

CREATE FUNCTION fleet.policy_json(p_policy fleet.policy) RETURNS jsonb
LANGUAGE sql VOLATILE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT jsonb_build_object('team', p_policy.team, 'version', p_policy.version,
        'toml', translate(encode(p_policy.toml, 'base64'), E'\n', ''),
        'signature', translate(encode(p_policy.signature, 'base64'), E'\n', ''),
        'by', p_policy.by, 'at', fleet.epoch(p_policy.at))
$$;

-- Gateways ----------------------------------------------------------------------------------------------------------

-- The policy of its team, else that of all teams; NULL if there is none.
CREATE FUNCTION fleet.policy_of(p_gateway text, p_token bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_gateway fleet.gateway := fleet.gateway_of(p_gateway, p_token);
    v_policy fleet.policy;
BEGIN
    SELECT * INTO v_policy FROM fleet.policy WHERE team IN (v_gateway.team, '*')
        ORDER BY team = '*', version DESC LIMIT 1;
    RETURN CASE WHEN FOUND THEN fleet.policy_json(v_policy) END;
END $$;
GRANT EXECUTE ON FUNCTION fleet.policy_of TO toolguard_gateway;

-- Persons -----------------------------------------------------------------------------------------------------------

-- A policy of the team, the latest without a version; NULL if there is none.
CREATE FUNCTION fleet.policy_at(p_team text, p_version integer DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver;
    v_policy fleet.policy;
BEGIN
    PERFORM fleet.check_team(p_team, true);
    IF fleet.is_owner() THEN
        v_person := fleet.admin();
    ELSE
        v_person := fleet.person();
    END IF;
    IF p_team <> '*' THEN -- that one is for everybody
        PERFORM fleet.demand_team(v_person, p_team);
    END IF;
    SELECT * INTO v_policy FROM fleet.policy WHERE team = p_team AND version = coalesce(p_version, version)
        ORDER BY version DESC LIMIT 1;
    RETURN CASE WHEN FOUND THEN fleet.policy_json(v_policy) END;
END $$;
GRANT EXECUTE ON FUNCTION fleet.policy_at TO toolguard_approver;

CREATE FUNCTION fleet.push_policy(p_team text, p_version integer, p_toml bytea, p_signature bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_admin fleet.approver := fleet.admin();
    v_last integer;
    v_policy fleet.policy;
BEGIN
    PERFORM fleet.check_team(p_team, true);
    PERFORM fleet.demand_team(v_admin, p_team);
    PERFORM fleet.check_bytes('the policy', p_toml, 1, 262144);
    PERFORM fleet.check_bytes('the signature', p_signature, 1, 16384);
    IF p_version IS NULL OR p_version NOT BETWEEN 1 AND 2000000000 THEN
        RAISE EXCEPTION 'a version is 1 to 2000000000' USING ERRCODE = '22023';
    END IF;
    INSERT INTO fleet.team_state (team) VALUES (p_team) ON CONFLICT DO NOTHING;
    PERFORM FROM fleet.team_state WHERE team = p_team FOR UPDATE;
    SELECT max(version) INTO v_last FROM fleet.policy WHERE team = p_team;
    IF p_version <= v_last THEN
        RAISE EXCEPTION 'version % is in force: the next one must be greater', v_last
            USING ERRCODE = 'TG030', DETAIL = v_last::text;
    END IF;
    INSERT INTO fleet.policy (team, version, toml, signature, by)
        VALUES (p_team, p_version, p_toml, p_signature, v_admin.id) RETURNING * INTO v_policy;
    UPDATE fleet.team_state SET policy_version = p_version WHERE team = p_team;
    INSERT INTO fleet.event (kind, team, who, detail)
        VALUES ('policy', p_team, v_admin.id, format('version %s sha256 %s', p_version, encode(sha256(p_toml), 'hex')));
    RETURN fleet.policy_json(v_policy) - 'toml' - 'signature';
END $$;
GRANT EXECUTE ON FUNCTION fleet.push_policy TO toolguard_admin;

-- Kill switch -------------------------------------------------------------------------------------------------------

CREATE FUNCTION fleet.kill_json(p_state fleet.team_state) RETURNS jsonb
LANGUAGE sql VOLATILE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT jsonb_build_object('team', p_state.team, 'on', p_state.kill, 'why', p_state.kill_why, 'by', p_state.kill_by,
        'at', fleet.epoch(p_state.kill_at), 'policy_version', p_state.policy_version)
$$;

-- The teams that this person may see, with the whole fleet (`*`).
CREATE FUNCTION fleet.kill_switches() RETURNS SETOF jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver;
BEGIN
    IF fleet.is_owner() THEN
        v_person := fleet.admin();
    ELSE
        v_person := fleet.person();
    END IF;
    RETURN QUERY SELECT fleet.kill_json(t) FROM fleet.team_state AS t
        WHERE t.team = '*' OR fleet.covers(v_person, t.team) ORDER BY t.team <> '*', t.team LIMIT 10000;
END $$;
GRANT EXECUTE ON FUNCTION fleet.kill_switches TO toolguard_approver;

-- On: approvers and admins of the team. Off, and all that concerns the whole fleet (`*`): admins. One that is on keeps its
-- first reason, person and time unless there is a new reason.
CREATE FUNCTION fleet.kill(p_team text, p_on boolean, p_why text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_person fleet.approver;
    v_state fleet.team_state;
BEGIN
    PERFORM fleet.check_team(p_team, true);
    PERFORM fleet.check_text('why', p_why, 0, 1000);
    IF p_on IS NULL THEN
        RAISE EXCEPTION 'the kill switch is on or off' USING ERRCODE = '22023';
    ELSIF p_on AND p_team <> '*' AND NOT fleet.is_owner() THEN
        v_person := fleet.decider();
    ELSE
        v_person := fleet.admin();
    END IF;
    PERFORM fleet.demand_team(v_person, p_team);
    IF p_team <> '*' AND NOT EXISTS (SELECT FROM fleet.team_state WHERE team = p_team) THEN
        RAISE EXCEPTION 'the team % has no gateway that was admitted', quote_ident(p_team) USING ERRCODE = '22023';
    END IF;
    SELECT * INTO v_state FROM fleet.team_state WHERE team = p_team FOR UPDATE;
    IF p_on AND NOT (v_state.kill AND p_why IN ('', v_state.kill_why)) THEN
        UPDATE fleet.team_state SET kill = true, kill_why = p_why, kill_by = v_person.id, kill_at = clock_timestamp()
            WHERE team = p_team RETURNING * INTO v_state;
        INSERT INTO fleet.event (kind, team, who, detail) VALUES ('kill-on', p_team, v_person.id, p_why);
    ELSIF NOT p_on AND v_state.kill THEN
        INSERT INTO fleet.event (kind, team, who, detail) VALUES ('kill-off', p_team, v_person.id, p_why);
        UPDATE fleet.team_state SET kill = false, kill_why = '', kill_by = '', kill_at = NULL
            WHERE team = p_team RETURNING * INTO v_state;
    END IF;
    RETURN fleet.kill_json(v_state);
END $$;
GRANT EXECUTE ON FUNCTION fleet.kill TO toolguard_approver;
