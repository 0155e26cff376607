-- How much each gateway may store in a day: an admitted gateway that is taken over, or in a loop, fills nobody's disk.
--
-- What a statement adds is charged by triggers of the tables, so that no function can forget it. A statement that goes beyond the
-- quota is refused as a whole with TG014, and so is not counted; what is refused stays on the gateway's machine, and is sent the
-- next day, or when an admin raises the quota. Answers about held calls are never refused for a quota: those waiting are bounded.

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

-- The rows of one statement are of one gateway: each function that adds some is called by one.
CREATE FUNCTION fleet.charge() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_day date := fleet.utc_day(clock_timestamp());
    v_gateway text;
    v_added bigint;
    v_bytes bigint;
BEGIN
    SELECT sum(pg_column_size(added.*)) INTO v_added FROM added;
    IF v_added IS NULL THEN
        RETURN NULL;
    END IF;
    IF TG_TABLE_NAME = 'audit' THEN
        SELECT gateway INTO v_gateway FROM fleet.audit_head WHERE log = (SELECT log FROM added LIMIT 1);
    ELSE
        SELECT gateway INTO v_gateway FROM fleet.metric_head WHERE source = (SELECT source FROM added LIMIT 1);
    END IF;
    INSERT INTO fleet.stored_today AS stored (gateway, day, bytes) VALUES (v_gateway, v_day, v_added)
    ON CONFLICT (gateway) DO UPDATE SET day = v_day,
        bytes = CASE WHEN stored.day = v_day THEN stored.bytes ELSE 0 END + v_added
    RETURNING bytes INTO v_bytes;
    IF v_bytes > fleet.quota_of(v_gateway) THEN
        RAISE EXCEPTION 'this gateway has stored all that it may in a day (% MB); the rest is sent tomorrow',
            fleet.quota_of(v_gateway) / 1000000 USING ERRCODE = 'TG014';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER charged AFTER INSERT ON fleet.audit REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION fleet.charge();
CREATE TRIGGER charged AFTER INSERT ON fleet.call REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION fleet.charge();
CREATE TRIGGER charged AFTER INSERT ON fleet.verdict REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION fleet.charge();

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
