-- What a monitor of the fleet asks for, with a token of a person of the dashboard; it begins no session.

-- The person of a token, for the rest of the transaction.
CREATE FUNCTION fleet.token_person(p_token bytea) RETURNS fleet.approver
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver;
BEGIN
    PERFORM fleet.check_bytes('token', p_token, 32, 128);
    SELECT a.* INTO v_person FROM fleet.page_token AS t JOIN fleet.approver AS a ON a.id = t.person
        WHERE t.hash = sha256(p_token) AND t.revoked IS NULL AND t.expires > clock_timestamp() AND a.revoked IS NULL;
    PERFORM set_config('toolguard.page_person', coalesce(v_person.id, ''), true);
    IF v_person.id IS NULL THEN
        RAISE EXCEPTION 'this token is not valid, or not any more' USING ERRCODE = 'TG030';
    END IF;
    RETURN v_person;
END $$;

-- Of the person's teams. `silent`, `oldest`, `maintained`: seconds; `ahead`: days for which every table has a partition.
CREATE FUNCTION fleet.page_metrics(p_token bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.token_person(p_token);
BEGIN
    RETURN jsonb_build_object(
        'gateways', (SELECT coalesce(jsonb_agg(to_jsonb(shown)), '[]') FROM (
            SELECT g.id, g.team, fleet.gateway_json(g) ->> 'state' AS state, -fleet.seconds_until(c.seen) AS silent
            FROM fleet.gateway AS g JOIN fleet.contact AS c ON c.gateway = g.id
            WHERE g.state <> 'revoked' AND c.left_at IS NULL AND fleet.covers(v_person, g.team)
            ORDER BY g.team, g.id LIMIT 5000) AS shown),
        'teams', (SELECT coalesce(jsonb_agg(to_jsonb(shown)), '[]') FROM (
            SELECT t.team, t.kill, count(h.nonce) AS waiting,
                coalesce(max(-fleet.seconds_until(h.created)), 0) AS oldest
            FROM fleet.team_state AS t
            LEFT JOIN fleet.gateway AS g ON g.team = t.team AND g.state = 'admitted'
            LEFT JOIN fleet.held AS h ON h.gateway = g.id AND h.status = 'pending' AND h.expires > clock_timestamp()
            WHERE t.team = '*' OR fleet.covers(v_person, t.team)
            GROUP BY t.team, t.kill ORDER BY t.team LIMIT 500) AS shown),
        'maintained', (SELECT -fleet.seconds_until(max(at)) FROM fleet.event WHERE kind = 'maintain'),
        'ahead', (SELECT min(ahead) FROM fleet.retention AS r, LATERAL (
            SELECT coalesce(max(to_date(right(c.relname, 8), 'YYYYMMDD')) - fleet.utc_day(clock_timestamp()), -1) AS ahead
            FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
            WHERE i.inhparent = to_regclass(format('fleet.%I', r.table_name)) AND c.relname ~ '_[0-9]{8}$') AS each));
END $$;
GRANT EXECUTE ON FUNCTION fleet.page_metrics TO toolguard_page;
