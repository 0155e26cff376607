-- The audit logs of all gateways, copied line by line, and anchored: `audit_append` takes only the next lines of a chain.
--
-- A chain is one audit log of one gateway. Its name is the hash of the first line that was stored of it. Each line names the
-- number (`seq`) and the hash of the line before, and ends with its own hash, so a chain cannot be changed, shortened or
-- continued in two ways without notice. `day` is the day (UTC, the server's clock) on which a line was stored.

CREATE SEQUENCE fleet.audit_number;

-- `line` is the line as it stands in `audit.jsonl`, with its newline. `number` is the order of arrival over all gateways.
-- `at`, `event`, `code`, `agent`, `nonce` are what the line states, for searching only; `at` is the gateway's clock.
-- `log` stands for the gateway and the chain (`audit_head`): together they would take as much room as the line.
CREATE TABLE fleet.audit (
    day date NOT NULL,
    log integer NOT NULL,
    seq bigint NOT NULL,
    number bigint NOT NULL DEFAULT nextval('fleet.audit_number'),
    stored timestamptz NOT NULL,
    at timestamptz,
    event text NOT NULL,
    code text NOT NULL,
    agent text NOT NULL,
    nonce text NOT NULL,
    line bytea NOT NULL,
    PRIMARY KEY (log, seq, day)
) PARTITION BY RANGE (day);
CREATE TABLE fleet.audit_default PARTITION OF fleet.audit DEFAULT;
INSERT INTO fleet.retention (table_name, keep_days) VALUES ('audit', 400);
CREATE INDEX audit_number_index ON fleet.audit (number);
CREATE INDEX audit_nonce ON fleet.audit (nonce) WHERE nonce <> '';

-- The end of each chain (`seq`, `hash`) and what its first line follows (`first`, `prev`). `forked`: the number of the line
-- of which a second version was offered; nothing is added to such a chain. Heads stay when lines are removed.
CREATE TABLE fleet.audit_head (
    gateway text NOT NULL REFERENCES fleet.gateway (id),
    chain text NOT NULL CHECK (chain ~ '^[0-9a-f]{64}$'),
    first bigint NOT NULL,
    prev text NOT NULL,
    seq bigint NOT NULL,
    hash text NOT NULL,
    lines bigint NOT NULL DEFAULT 0,
    forked bigint,
    created timestamptz NOT NULL,
    stored timestamptz NOT NULL,
    log integer GENERATED ALWAYS AS IDENTITY UNIQUE,
    PRIMARY KEY (gateway, chain)
);

-- Lines that a gateway no longer has and never sent. `hash` is that of the last of them, as the log itself names it.
CREATE TABLE fleet.audit_gap (
    gateway text NOT NULL,
    chain text NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    hash text NOT NULL,
    reason text NOT NULL CHECK (reason IN ('removed', 'missing', 'changed', 'too-large')),
    reported timestamptz NOT NULL,
    PRIMARY KEY (gateway, chain, first),
    FOREIGN KEY (gateway, chain) REFERENCES fleet.audit_head (gateway, chain)
);

-- What a line states. Empty where it is no JSON object of ours: a line is stored as it is, whatever it holds.
CREATE FUNCTION fleet.audit_facts(
    p_line bytea, OUT at timestamptz, OUT event text, OUT code text, OUT agent text, OUT nonce text
) LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_fields jsonb;
BEGIN
    event := ''; code := ''; agent := ''; nonce := '';
    v_fields := replace(convert_from(p_line, 'UTF8'), '\u0000', '\ufffd')::jsonb;
    event := left(coalesce(v_fields ->> 'event', ''), 100);
    code := left(coalesce(v_fields ->> 'code', ''), 100);
    agent := left(coalesce(v_fields ->> 'agent', ''), 200);
    nonce := left(coalesce(v_fields ->> 'nonce', ''), 100);
    at := (v_fields ->> 'time')::timestamptz;
EXCEPTION WHEN others THEN
    at := NULL;
END $$;

-- The first of these lines that does not continue the chain after (p_seq, p_hash), and why: its text is not one line of the
-- expected form, number and hash ('hash'), or it follows another line ('link'). No row if all do.
CREATE FUNCTION fleet.audit_broken(p_seq bigint, p_hash text, p_lines bytea[], OUT seq bigint, OUT why text)
RETURNS SETOF record LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
    WITH given AS (
        SELECT p_seq + n AS seq, line, octet_length(line) AS size,
            CASE WHEN octet_length(line) > 76
                THEN encode(sha256(substr(line, 1, octet_length(line) - 76) || '}'::bytea), 'hex') END AS own
        FROM unnest(p_lines) WITH ORDINALITY AS each (line, n)
    ), linked AS (
        SELECT *, lag(own, 1, p_hash) OVER (ORDER BY given.seq) AS prev FROM given
    ), checked AS (
        SELECT linked.seq, line,
            own IS NOT NULL
            AND substr(line, size - 75) = convert_to(',"hash":"' || own || E'"}\n', 'UTF8')
            AND position('\x0a'::bytea IN line) = size
            AND substr(line, 1, length(linked.seq::text) + 16)
                = convert_to('{"seq":' || linked.seq || ',"prev":"', 'UTF8') AS is_sound,
            convert_to('{"seq":' || linked.seq || ',"prev":"' || prev || '",', 'UTF8') AS beginning
        FROM linked
    )
    SELECT checked.seq, CASE WHEN is_sound THEN 'link' ELSE 'hash' END FROM checked
    WHERE is_sound IS NOT TRUE OR substr(line, 1, octet_length(beginning)) IS DISTINCT FROM beginning
    ORDER BY checked.seq LIMIT 1
$$;

-- Another version of a stored line was offered: a copy of the gateway is running, or its log was rewritten.
CREATE FUNCTION fleet.audit_quarantine(p_gateway text, p_chain text, p_seq bigint) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    UPDATE fleet.audit_head SET forked = p_seq WHERE gateway = p_gateway AND chain = p_chain AND forked IS NULL;
    IF FOUND THEN
        UPDATE fleet.gateway SET state = 'quarantined' WHERE id = p_gateway AND state = 'admitted';
        INSERT INTO fleet.event (kind, team, gateway, detail)
            SELECT 'audit.fork', team, id, format('line %s of %s', p_seq, p_chain) FROM fleet.gateway WHERE id = p_gateway;
    END IF;
    RETURN jsonb_build_object('outcome', 'fork', 'seq', p_seq);
END $$;

-- The chains of this gateway, the latest first: [{chain, first, seq, hash, forked}].
CREATE FUNCTION fleet.audit_heads(p_gateway text, p_token bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    PERFORM fleet.gateway_of(p_gateway, p_token);
    RETURN (
        SELECT coalesce(jsonb_agg(to_jsonb(latest)), '[]') FROM (
            SELECT chain, first, seq, hash, forked FROM fleet.audit_head
            WHERE gateway = p_gateway ORDER BY stored DESC, chain LIMIT 100
        ) AS latest
    );
END $$;

-- Adds the lines p_first, p_first + 1, ... to a chain; lines that are stored already are compared and not added again.
-- {outcome: stored, next}; or nothing is added: {outcome: gap, next} where lines before p_first are missing, {outcome:
-- refused, seq, why} for a line that is too large or does not fit its hash, {outcome: fork, seq} where another line with this
-- number is stored: then the gateway is in quarantine.
CREATE FUNCTION fleet.audit_append(p_gateway text, p_token bytea, p_chain text, p_first bigint, p_lines bytea[])
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_head fleet.audit_head;
    v_last bigint;
    v_new bytea[];
    v_seq bigint;
    v_why text;
    v_hash text;
    v_line bytea;
    v_now timestamptz := clock_timestamp();
BEGIN
    PERFORM fleet.gateway_of(p_gateway, p_token);
    IF p_chain IS NULL OR p_chain !~ '^[0-9a-f]{64}$' OR p_first IS NULL OR p_first NOT BETWEEN 1 AND 1e15::bigint
        OR p_lines IS NULL OR array_ndims(p_lines) <> 1 OR array_lower(p_lines, 1) <> 1 OR cardinality(p_lines) > 1000
        OR array_position(p_lines, NULL) IS NOT NULL OR cardinality(p_lines) = 0
    THEN
        RAISE EXCEPTION 'a chain, the number of its first line and 1 to 1,000 lines are needed' USING ERRCODE = '22023';
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
    SELECT min(known.seq) INTO v_seq FROM fleet.audit AS known
    WHERE log = v_head.log AND known.seq BETWEEN p_first AND least(v_last, v_head.seq)
        AND line IS DISTINCT FROM p_lines[(known.seq - p_first + 1)::int];
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

-- Begins a chain with this line; NULL where the line does not fit its hash, or the chain is not named by it. A further chain of
-- a gateway is reported: its log was moved away, or it is another log.
CREATE FUNCTION fleet.audit_begin(p_gateway text, p_chain text, p_first bigint, p_line bytea, p_now timestamptz)
RETURNS fleet.audit_head LANGUAGE plpgsql SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_head fleet.audit_head;
    v_prev text := encode(substr(p_line, length(p_first::text) + 17, 64), 'escape');
    v_chains bigint;
BEGIN
    IF v_prev !~ '^[0-9a-f]{64}$' OR EXISTS (SELECT FROM fleet.audit_broken(p_first - 1, v_prev, ARRAY[p_line]))
        OR encode(substr(p_line, octet_length(p_line) - 66, 64), 'escape') <> p_chain
    THEN
        RETURN NULL;
    END IF;
    SELECT count(*) INTO v_chains FROM fleet.audit_head WHERE gateway = p_gateway;
    IF v_chains >= 1000 THEN
        RAISE EXCEPTION 'this gateway has 1,000 audit logs already' USING ERRCODE = '54000';
    END IF;
    INSERT INTO fleet.audit_head (gateway, chain, first, prev, seq, hash, created, stored)
    VALUES (p_gateway, p_chain, p_first, v_prev, p_first - 1, v_prev, p_now, p_now)
    ON CONFLICT DO NOTHING;
    IF FOUND AND v_chains > 0 THEN
        INSERT INTO fleet.event (kind, team, gateway, detail)
            SELECT 'audit.new-chain', team, id, format('%s from line %s on', p_chain, p_first)
            FROM fleet.gateway WHERE id = p_gateway;
    END IF;
    SELECT * INTO v_head FROM fleet.audit_head WHERE gateway = p_gateway AND chain = p_chain FOR UPDATE;
    RETURN v_head;
END $$;

-- The gateway no longer has the lines up to p_last, whose hash the log names. Reported, never silent: the next line must
-- follow that hash. {next}.
CREATE FUNCTION fleet.audit_skip(
    p_gateway text, p_token bytea, p_chain text, p_first bigint, p_last bigint, p_hash text, p_reason text
) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_head fleet.audit_head;
    v_now timestamptz := clock_timestamp();
BEGIN
    PERFORM fleet.gateway_of(p_gateway, p_token);
    IF p_hash IS NULL OR p_hash !~ '^[0-9a-f]{64}$' OR p_first IS NULL OR p_last IS NULL
        OR p_last NOT BETWEEN p_first AND 1e15::bigint
        OR p_reason IS NULL OR p_reason NOT IN ('removed', 'missing', 'changed', 'too-large')
    THEN
        RAISE EXCEPTION 'a chain, the numbers and the last hash of the missing lines and a reason are needed'
            USING ERRCODE = '22023';
    END IF;
    SELECT * INTO v_head FROM fleet.audit_head WHERE gateway = p_gateway AND chain = p_chain FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this gateway has no such chain' USING ERRCODE = '22023';
    END IF;
    IF v_head.forked IS NOT NULL THEN
        RETURN jsonb_build_object('outcome', 'fork', 'seq', v_head.forked);
    END IF;
    IF p_first <> v_head.seq + 1 THEN
        RETURN jsonb_build_object('outcome', 'gap', 'next', v_head.seq + 1);
    END IF;
    INSERT INTO fleet.audit_gap (gateway, chain, first, last, hash, reason, reported)
    VALUES (p_gateway, p_chain, p_first, p_last, p_hash, p_reason, v_now);
    UPDATE fleet.audit_head SET seq = p_last, hash = p_hash, stored = v_now
    WHERE gateway = p_gateway AND chain = p_chain;
    INSERT INTO fleet.event (kind, team, gateway, detail)
        SELECT 'audit.gap', team, id, format('lines %s to %s of %s: %s', p_first, p_last, p_chain, p_reason)
        FROM fleet.gateway WHERE id = p_gateway;
    RETURN jsonb_build_object('outcome', 'stored', 'next', p_last + 1);
END $$;

GRANT EXECUTE ON FUNCTION fleet.audit_heads, fleet.audit_append, fleet.audit_skip TO toolguard_gateway;

-- Persons -----------------------------------------------------------------------------------------------------------

-- The person of this session, or the owner: whoever may look. Teams limit what they see.
CREATE FUNCTION fleet.reader() RETURNS fleet.approver
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fleet, pg_temp AS $$
BEGIN
    IF fleet.is_owner() THEN
        RETURN fleet.admin();
    END IF;
    RETURN fleet.person();
END $$;

-- The latest lines first. p_filters: {team, gateway, event, agent, nonce, hours}, each optional. p_before: the `number` of
-- the last line that was shown. `line` is the text of the line; whatever it holds comes from a gateway.
CREATE FUNCTION fleet.audit_lines(p_filters jsonb DEFAULT '{}', p_before bigint DEFAULT NULL, p_limit integer DEFAULT 100)
RETURNS TABLE (number bigint, gateway text, team text, chain text, seq bigint, stored timestamptz, line bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.reader();
    v_since timestamptz := clock_timestamp() - make_interval(hours => coalesce(p_filters ->> 'hours', '87600')::integer);
    v_before bigint := coalesce(p_before, 9e18::bigint);
BEGIN
    RETURN QUERY
    SELECT a.number, h.gateway, g.team, h.chain, a.seq, a.stored, a.line
    FROM fleet.audit AS a JOIN fleet.audit_head AS h ON h.log = a.log JOIN fleet.gateway AS g ON g.id = h.gateway
    WHERE a.number < v_before AND a.stored >= v_since AND a.day >= (v_since AT TIME ZONE 'UTC')::date
        AND fleet.covers(v_person, g.team)
        AND (NOT p_filters ? 'team' OR g.team = p_filters ->> 'team')
        AND (NOT p_filters ? 'gateway' OR h.gateway = p_filters ->> 'gateway')
        AND (NOT p_filters ? 'event' OR a.event = p_filters ->> 'event')
        AND (NOT p_filters ? 'agent' OR a.agent = p_filters ->> 'agent')
        AND (NOT p_filters ? 'nonce' OR a.nonce = p_filters ->> 'nonce')
    ORDER BY a.number DESC LIMIT least(greatest(coalesce(p_limit, 100), 1), 1000);
END $$;

-- The chains of a gateway, or of all that this person may see (NULL). `gaps`: [{first, last, hash, reason, at}].
CREATE FUNCTION fleet.audit_chains(p_gateway text DEFAULT NULL)
RETURNS TABLE (gateway text, team text, chain text, first bigint, prev text, seq bigint, hash text, lines bigint,
    forked bigint, stored timestamptz, gaps jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.reader();
BEGIN
    RETURN QUERY
    SELECT h.gateway, g.team, h.chain, h.first, h.prev, h.seq, h.hash, h.lines, h.forked, h.stored, coalesce((
            SELECT jsonb_agg(jsonb_build_object('first', each.first, 'last', each.last, 'hash', each.hash,
                'reason', each.reason, 'at', fleet.epoch(each.reported)) ORDER BY each.first)
            FROM fleet.audit_gap AS each WHERE each.gateway = h.gateway AND each.chain = h.chain), '[]')
    FROM fleet.audit_head AS h JOIN fleet.gateway AS g ON g.id = h.gateway
    WHERE (p_gateway IS NULL OR h.gateway = p_gateway) AND fleet.covers(v_person, g.team)
    ORDER BY h.gateway, h.created;
END $$;

-- The lines of one chain after p_after, in order, for whoever computes the chain again.
CREATE FUNCTION fleet.audit_read(p_gateway text, p_chain text, p_after bigint, p_limit integer)
RETURNS TABLE (seq bigint, line bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, fleet, pg_temp AS $$
DECLARE
    v_person fleet.approver := fleet.reader();
BEGIN
    PERFORM fleet.demand_team(v_person, coalesce((SELECT team FROM fleet.gateway WHERE id = p_gateway), ''));
    RETURN QUERY
    SELECT a.seq, a.line FROM fleet.audit AS a
    WHERE a.log = (SELECT h.log FROM fleet.audit_head AS h WHERE h.gateway = p_gateway AND h.chain = p_chain)
        AND a.seq > p_after
    ORDER BY a.seq LIMIT least(greatest(coalesce(p_limit, 1), 1), 10000);
END $$;

GRANT EXECUTE ON FUNCTION fleet.audit_lines, fleet.audit_chains, fleet.audit_read TO toolguard_approver;
