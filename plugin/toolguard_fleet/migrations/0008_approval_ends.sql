-- How long an approval lasts, and what may be revived.

-- Moves the end of an approval: its window counts only while no run is in progress that could use it, which its gateway knows.
-- `p_left`: seconds from now, and never beyond 10 minutes after the approval. NULL if it is over, was used or withdrawn, or is
-- there again because its call did not run.
CREATE FUNCTION fleet.move_end(p_gateway text, p_token bytea, p_nonce text, p_left double precision) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    v_gateway fleet.gateway := fleet.gateway_of(p_gateway, p_token);
    v_held fleet.held;
BEGIN
    PERFORM fleet.check_nonce(p_nonce);
    IF p_left IS NULL OR p_left NOT BETWEEN 0.001 AND 600 THEN
        RAISE EXCEPTION 'left must be more than 0 and at most 600, in seconds' USING ERRCODE = '22023';
    END IF;
    UPDATE fleet.held SET expires = least(clock_timestamp() + make_interval(secs => p_left), decided + interval '600 s')
        WHERE gateway = p_gateway AND nonce = p_nonce AND status = 'approved' AND expires > clock_timestamp()
            AND returned_by IS NULL
        RETURNING * INTO v_held;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN fleet.held_json(v_held, false);
END $$;
GRANT EXECUTE ON FUNCTION fleet.move_end TO toolguard_gateway;

-- A call that nobody answered may be made again, and so may one that was approved and did not run in time; it is held anew then.
CREATE OR REPLACE FUNCTION fleet.revive(p_gateway text, p_nonce text, p_why text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp SET lock_timeout = '2s' AS $$
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
        SELECT * INTO v_closed FROM fleet.held_closed WHERE gateway = p_gateway AND nonce = p_nonce
            ORDER BY decided DESC LIMIT 1 FOR UPDATE;
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
