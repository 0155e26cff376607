-- How much each gateway may store in a day: an admitted gateway that is taken over, or in a loop, fills nobody's disk.
--
-- What a statement adds is charged by triggers of the tables, so that no function can forget it. Once the quota is reached, further
-- batches are refused with TG014 before anything is inserted; what is refused stays on the gateway's machine, and is sent the next
-- day, or when an admin raises the quota. Answers about held calls are never refused for a quota: those waiting are bounded.

-- `gateway` '*': all that have no quota of their own.
CREATE TABLE fleet.quota (
    gateway text PRIMARY KEY,
    megabytes integer NOT NULL CHECK (megabytes BETWEEN 1 AND 1000000)
);
INSERT INTO fleet.quota VALUES ('*', 500);

-- `day`: the server's. `bytes`: as the rows are stored, without indexes.
CREATE TABLE fleet.stored_today (
    gateway text PRIMARY KEY REFERENCES fleet.gateway (id),
    day date NOT NULL,
    bytes bigint NOT NULL
);

CREATE FUNCTION fleet.quota_of(p_gateway text) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    SELECT megabytes * 1000000::bigint FROM fleet.quota WHERE gateway IN (p_gateway, '*') ORDER BY gateway = '*' LIMIT 1
$$;

-- Refuses to store anything more once this gateway has stored so many percent of its quota. Nothing is inserted before, as rows of
-- a statement that fails would fill the disk as well; so the batch that reaches the quota is stored as a whole. One batch of a
-- gateway is stored at a time, or many at once would all be the last one.
CREATE FUNCTION fleet.demand_room(p_gateway text, p_percent integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_stored fleet.stored_today;
    v_quota bigint := fleet.quota_of(p_gateway);
BEGIN
    SELECT * INTO v_stored FROM fleet.stored_today WHERE gateway = p_gateway FOR UPDATE;
    IF v_stored.day = fleet.utc_day(clock_timestamp()) AND v_stored.bytes >= v_quota * p_percent / 100 THEN
        RAISE EXCEPTION 'this gateway has stored all that it may in a day (% MB); the rest is sent tomorrow',
            v_quota / 1000000 USING ERRCODE = 'TG014';
    END IF;
END $$;

-- The rows of one statement are of one gateway: each function that adds some is called by one. Of events, those count that a
-- gateway makes with its audit log.
CREATE FUNCTION fleet.charge() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_day date := fleet.utc_day(clock_timestamp());
    v_gateway text;
    v_added bigint;
BEGIN
    IF TG_TABLE_NAME = 'event' THEN
        SELECT sum(pg_column_size(added.*)), min(added.gateway) INTO v_added, v_gateway FROM added
        WHERE kind LIKE 'audit.%';
    ELSE
        SELECT sum(pg_column_size(added.*)) INTO v_added FROM added;
    END IF;
    IF v_added IS NULL THEN
        RETURN NULL;
    END IF;
    IF TG_TABLE_NAME = 'audit' THEN
        SELECT gateway INTO v_gateway FROM fleet.audit_head WHERE log = (SELECT log FROM added LIMIT 1);
    ELSIF TG_TABLE_NAME = 'audit_gap' THEN
        SELECT gateway INTO v_gateway FROM added LIMIT 1;
    ELSIF TG_TABLE_NAME <> 'event' THEN
        SELECT gateway INTO v_gateway FROM fleet.metric_head WHERE source = (SELECT source FROM added LIMIT 1);
    END IF;
    INSERT INTO fleet.stored_today AS stored (gateway, day, bytes) VALUES (v_gateway, v_day, v_added)
    ON CONFLICT (gateway) DO UPDATE SET day = v_day,
        bytes = CASE WHEN stored.day = v_day THEN stored.bytes ELSE 0 END + v_added;
    RETURN NULL;
END $$;

CREATE TRIGGER charged AFTER INSERT ON fleet.audit REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION fleet.charge();
CREATE TRIGGER charged AFTER INSERT ON fleet.audit_gap REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION fleet.charge();
CREATE TRIGGER charged AFTER INSERT ON fleet.event REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION fleet.charge();
CREATE TRIGGER charged AFTER INSERT ON fleet.call REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION fleet.charge();
CREATE TRIGGER charged AFTER INSERT ON fleet.verdict REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION fleet.charge();

-- What a gateway calls looks at the quota first. Metrics may fill 80 % of it, and leave the rest to the audit log.
ALTER FUNCTION fleet.audit_append(text, bytea, text, bigint, bytea[]) RENAME TO append_lines;
ALTER FUNCTION fleet.audit_skip(text, bytea, text, bigint, bigint, text, text) RENAME TO skip_lines;
ALTER FUNCTION fleet.record(text, bytea, jsonb) RENAME TO record_rows;
REVOKE EXECUTE ON FUNCTION fleet.append_lines, fleet.skip_lines, fleet.record_rows FROM toolguard_gateway;

-- Lines that are stored already are compared with those whatever the quota is, as that finds a copy of the gateway.
CREATE FUNCTION fleet.audit_append(p_gateway text, p_token bytea, p_chain text, p_first bigint, p_lines bytea[])
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    PERFORM fleet.gateway_of(p_gateway, p_token);
    IF NOT EXISTS (
        SELECT FROM fleet.audit_head
        WHERE gateway = p_gateway AND chain = p_chain AND seq >= p_first - 1 + cardinality(p_lines)
    ) THEN
        PERFORM fleet.demand_room(p_gateway, 100);
    END IF;
    RETURN fleet.append_lines(p_gateway, p_token, p_chain, p_first, p_lines);
END $$;

CREATE FUNCTION fleet.audit_skip(
    p_gateway text, p_token bytea, p_chain text, p_first bigint, p_last bigint, p_hash text, p_reason text
) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    PERFORM fleet.gateway_of(p_gateway, p_token);
    PERFORM fleet.demand_room(p_gateway, 100);
    RETURN fleet.skip_lines(p_gateway, p_token, p_chain, p_first, p_last, p_hash, p_reason);
END $$;

CREATE FUNCTION fleet.record(p_gateway text, p_token bytea, p_rows jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    PERFORM fleet.gateway_of(p_gateway, p_token);
    PERFORM fleet.demand_room(p_gateway, 80);
    RETURN fleet.record_rows(p_gateway, p_token, p_rows);
END $$;
GRANT EXECUTE ON FUNCTION fleet.audit_append, fleet.audit_skip, fleet.record TO toolguard_gateway;

-- `p_gateway` '*': of all that have none of their own.
CREATE FUNCTION fleet.set_quota(p_gateway text, p_megabytes integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_admin fleet.approver := fleet.admin();
BEGIN
    PERFORM fleet.demand_team(v_admin, '*');
    IF p_megabytes IS NULL OR p_megabytes NOT BETWEEN 1 AND 1000000 THEN
        RAISE EXCEPTION 'megabytes must be 1 to 1000000' USING ERRCODE = '22023';
    END IF;
    IF p_gateway <> '*' AND NOT EXISTS (SELECT FROM fleet.gateway WHERE id = p_gateway) THEN
        RAISE EXCEPTION 'no such gateway: %', p_gateway USING ERRCODE = 'TG001';
    END IF;
    INSERT INTO fleet.quota VALUES (p_gateway, p_megabytes)
    ON CONFLICT (gateway) DO UPDATE SET megabytes = p_megabytes;
    INSERT INTO fleet.event (kind, gateway, who, detail)
    VALUES ('quota', replace(p_gateway, '*', ''), v_admin.id, format('%s MB a day', p_megabytes));
END $$;
GRANT EXECUTE ON FUNCTION fleet.set_quota TO toolguard_admin;
