-- Passkeys: which ones the dashboard offers to a person, and a yes that one of them has signed.
--
-- No gateway reads this table: a signature counts where the key is in the gateway's own trust root. `rp`: the host of the
-- page that made it; `point`: its public key.
CREATE TABLE fleet.page_passkey (
    credential bytea PRIMARY KEY CHECK (octet_length(credential) BETWEEN 1 AND 1023),
    person text NOT NULL REFERENCES fleet.approver (id),
    rp text NOT NULL,
    point bytea NOT NULL CHECK (octet_length(point) = 65),
    name text NOT NULL,
    created timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX page_passkey_person ON fleet.page_passkey (person);

-- The person's own, the oldest first.
CREATE FUNCTION fleet.page_passkeys(p_session bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
BEGIN
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object(
            'credential', translate(encode(k.credential, 'base64'), E'\n', ''), 'person', k.person, 'rp', k.rp,
            'point', translate(encode(k.point, 'base64'), E'\n', ''), 'name', k.name, 'created', fleet.epoch(k.created))
            ORDER BY k.created, k.credential), '[]')
        FROM fleet.page_passkey AS k WHERE k.person = v_person.id);
END $$;

-- For approvers and admins; at most 10 each.
CREATE FUNCTION fleet.page_add_passkey(p_session bytea, p_credential bytea, p_rp text, p_point bytea, p_name text)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
BEGIN
    PERFORM fleet.decider();
    PERFORM fleet.check_bytes('the credential', p_credential, 1, 1023);
    PERFORM fleet.check_text('the host', p_rp, 1, 253);
    PERFORM fleet.check_bytes('the public key', p_point, 65, 65);
    PERFORM fleet.check_text('the name', p_name, 0, 200);
    PERFORM FROM fleet.approver WHERE id = v_person.id FOR NO KEY UPDATE;
    IF (SELECT count(*) FROM fleet.page_passkey WHERE person = v_person.id) >= 10 THEN
        RAISE EXCEPTION 'you have 10 passkeys: remove one first' USING ERRCODE = '22023';
    END IF;
    INSERT INTO fleet.page_passkey (credential, person, rp, point, name)
        VALUES (p_credential, v_person.id, p_rp, p_point, p_name) ON CONFLICT (credential) DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this passkey is known already' USING ERRCODE = '22023';
    END IF;
    INSERT INTO fleet.event (kind, who, detail)
        VALUES ('passkey', v_person.id, format('%s at %s', encode(sha256(p_point), 'hex'), p_rp));
    RETURN 'true';
END $$;

CREATE FUNCTION fleet.page_remove_passkey(p_session bytea, p_credential bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
    v_point bytea;
BEGIN
    DELETE FROM fleet.page_passkey WHERE credential = p_credential AND person = v_person.id RETURNING point INTO v_point;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'you have no such passkey' USING ERRCODE = '22023';
    END IF;
    INSERT INTO fleet.event (kind, who, detail)
        VALUES ('passkey-removed', v_person.id, encode(sha256(v_point), 'hex'));
    RETURN 'true';
END $$;

-- A yes with its signature, which only the gateway verifies. `approvals`: how many persons have approved the call now.
CREATE FUNCTION fleet.page_approve(p_session bytea, p_gateway text, p_nonce text, p_body bytea, p_signature bytea)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    v_person fleet.approver := fleet.page_person(p_session);
    v_held jsonb;
BEGIN
    PERFORM fleet.check_bytes('body', p_body, 1, 4096);
    PERFORM fleet.check_bytes('signature', p_signature, 1, 16384);
    v_held := fleet.decide(p_gateway, p_nonce, 'approved', p_body, p_signature, '');
    RETURN jsonb_build_object('status', v_held -> 'status', 'need', v_held -> 'need', 'approvals', (
        SELECT count(DISTINCT d ->> 'approver') FROM jsonb_array_elements(v_held -> 'decisions') AS d
            WHERE d ->> 'verdict' = 'approved'));
END $$;

GRANT EXECUTE ON FUNCTION fleet.page_passkeys, fleet.page_add_passkey, fleet.page_remove_passkey, fleet.page_approve
    TO toolguard_page;
