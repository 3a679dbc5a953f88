-- The fleet's database, migration 13: how the clocks of hosts were set. Forward only: a released migration is never edited.
--
-- A stamp of a host may be wrong by years. So the hub keeps each host's table of periods (schema/archive/0005-age-clock.sql), shows
-- corrected times by it, and files a capture in the month in which it was taken. That is the month of the key in every table. A host
-- names a capture by the month of its stamp; fleet_store.filed has the captures for which the two differ.
SET ROLE fleet_owner;

-- The periods in which no clock of a host stepped; on the hub.
CREATE TABLE fleet_store.clock_period (
	host         text COLLATE "C" NOT NULL,
	archive      uuid NOT NULL,
	period       bigint NOT NULL,         -- ascends with time
	began_mono   bigint NOT NULL,
	ended_mono   bigint NOT NULL,         -- of the newest period: when the host sent it
	is_newest    boolean NOT NULL,
	real_offset  bigint NOT NULL,         -- CLOCK_REALTIME minus CLOCK_MONOTONIC
	correction   bigint,                  -- to be added to real stamps of the period; NULL: the host does not know it
	right_offset bigint NOT NULL,         -- right time minus CLOCK_MONOTONIC; without a correction by the hub's clock and the host's age clock
	PRIMARY KEY (host, archive, period)
);

-- The captures that are not filed in the month of their stamp; on the hub.
CREATE TABLE fleet_store.filed (
	host    text COLLATE "C" NOT NULL,
	archive uuid NOT NULL,
	capture bigint NOT NULL,
	month   date NOT NULL,                -- of the stamp
	filed   date NOT NULL,                -- the key's month in all tables
	PRIMARY KEY (host, archive, capture)
);
CREATE INDEX ON fleet_store.filed (host, month);

-- Refuse PERIODS unless each is an object of whole numbers.
CREATE FUNCTION fleet_store.periods_check(periods jsonb) RETURNS void LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF jsonb_typeof(periods) IS DISTINCT FROM 'array' OR octet_length(periods::text) > 262144 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'periods is no array of at most 262144 bytes';
	ELSIF jsonb_array_length(periods) > 1024 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'periods has more than 1024 entries';
	ELSIF EXISTS (SELECT FROM jsonb_array_elements(periods) p, unnest(ARRAY['id', 'began_mono', 'ended_mono', 'real_offset', 'age_offset',
		'correction']) m WHERE NOT (m = 'correction' AND coalesce(jsonb_typeof(p -> m), 'null') = 'null')
			AND coalesce(p ->> m, '') !~ '^-?[0-9]{1,18}$|^-?[1-8][0-9]{18}$') THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'an entry of periods has a number that is missing or out of its range';
	ELSIF (SELECT count(DISTINCT (p ->> 'id')::bigint) FROM jsonb_array_elements(periods) p) < jsonb_array_length(periods) THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'two entries of periods have one id';
	END IF;
END
$$;

-- Replace the host's periods. AGE is the host's age clock now. Return the hub's clock, in ns since 1970.
CREATE FUNCTION fleet.put_clock(archive uuid, age bigint, periods jsonb) RETURNS bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
	hub bigint := extract(epoch FROM clock_timestamp())::numeric * 1000000000;
BEGIN
	PERFORM fleet_store.sender(archive);
	PERFORM fleet_store.periods_check(periods);
	IF age IS NULL OR age NOT BETWEEN -9000000000000000000 AND 9000000000000000000 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'age is NULL or out of its range';
	END IF;
	DELETE FROM fleet_store.clock_period k WHERE k.host = me AND k.archive = archive
		AND NOT EXISTS (SELECT FROM jsonb_array_elements(periods) p WHERE (p ->> 'id')::bigint = k.period);
	-- Only what differs is written: the table of a host at rest stays as it is.
	INSERT INTO fleet_store.clock_period AS k
		SELECT me, archive, q.id, q.began_mono, q.ended_mono, q.id = max(q.id) OVER (), q.real_offset, q.correction,
			greatest(-9000000000000000000, least(9000000000000000000,
				CASE WHEN q.correction IS NULL THEN hub::numeric - age + q.age_offset ELSE q.real_offset::numeric + q.correction END))
		FROM jsonb_to_recordset(periods) AS q(id bigint, began_mono bigint, ended_mono bigint, real_offset bigint, age_offset bigint,
			correction bigint)
		ON CONFLICT ON CONSTRAINT clock_period_pkey DO UPDATE SET began_mono = EXCLUDED.began_mono, ended_mono = EXCLUDED.ended_mono,
			is_newest = EXCLUDED.is_newest, real_offset = EXCLUDED.real_offset, correction = EXCLUDED.correction,
			right_offset = EXCLUDED.right_offset
			WHERE (k.began_mono, k.ended_mono, k.is_newest, k.real_offset, k.correction) IS DISTINCT FROM (EXCLUDED.began_mono,
				EXCLUDED.ended_mono, EXCLUDED.is_newest, EXCLUDED.real_offset, EXCLUDED.correction)
				OR abs(k.right_offset::numeric - EXCLUDED.right_offset) > 1000000000;
	RETURN hub;
END
$$;

-- Return when something was taken that is stamped STAMP and MONO, in ns since 1970: STAMP, unless the host's clock is known to have been
-- wrong. Without a correction of the host, the stamp counts as wrong if it is a day or more away from the hub's clock less the age. That
-- time may be late, as the age clock does not know how long a host was off, but never early.
CREATE FUNCTION fleet_store.taken(archive uuid, stamp bigint, mono bigint) RETURNS bigint LANGUAGE plpgsql STABLE
	SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
	p record;
	time numeric;
BEGIN
	SELECT k.correction, k.right_offset, abs(stamp::numeric - mono - k.real_offset) <= 2000000000 AS is_exact INTO p
		FROM fleet_store.clock_period k
		WHERE k.host = session_user AND k.archive = archive AND mono >= k.began_mono - 60000000000
			AND (k.is_newest OR mono <= k.ended_mono + 60000000000)
		ORDER BY abs(stamp::numeric - mono - k.real_offset) <= 2000000000 DESC, k.period DESC LIMIT 1;
	IF NOT FOUND OR mono IS NULL THEN
		RETURN stamp;
	ELSIF p.is_exact AND p.correction IS NOT NULL THEN
		time := stamp::numeric + p.correction;
	ELSE
		time := mono::numeric + p.right_offset;
		IF abs(time - stamp) < 86400000000000 THEN
			RETURN stamp;
		END IF;
	END IF;
	IF time = stamp THEN
		RETURN stamp;
	END IF;
	RETURN greatest(0, least(time, extract(epoch FROM now())::numeric * 1000000000));
END
$$;

-- Return the key's month of a capture that the host names by MONTH. fleet_store.sender() was called.
CREATE FUNCTION fleet_store.filed_month(archive uuid, month date, capture bigint) RETURNS date LANGUAGE sql STABLE
	SET search_path = pg_catalog, pg_temp AS $$
	SELECT coalesce((SELECT f.filed FROM fleet_store.filed f
		WHERE f.host = session_user AND f.archive = $1 AND f.capture = $3 AND f.month = $2), $2)
$$;

-- Return the key's month of a capture that begins, stamped in MONTH and taken at TAKEN. It stays when the clock is known better later.
CREATE FUNCTION fleet_store.month_file(archive uuid, month date, capture bigint, taken timestamptz) RETURNS date LANGUAGE plpgsql
	SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
	filed date := date_trunc('month', taken AT TIME ZONE 'UTC')::date;
	before date := fleet_store.filed_month(archive, month, capture);
BEGIN
	IF before <> month OR filed = month
		OR EXISTS (SELECT FROM fleet_store.capture k WHERE k.host = me AND k.month = month AND k.archive = archive AND k.capture = capture) THEN
		RETURN before;
	END IF;
	INSERT INTO fleet_store.filed VALUES (me, archive, capture, month, filed)
		ON CONFLICT ON CONSTRAINT filed_pkey DO UPDATE SET month = EXCLUDED.month, filed = EXCLUDED.filed;
	RETURN filed;
END
$$;

CREATE OR REPLACE FUNCTION fleet.begin_capture(archive uuid, month date, capture bigint, pieces integer, bytes bigint, head jsonb) RETURNS text
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
	quota bigint := fleet_store.sender(archive);
	room bigint := fleet_store.room(bytes, pieces, head);
	stamp bigint;
	at timestamptz;
	c record;
BEGIN
	IF month IS NULL OR NOT isfinite(month) OR extract(day FROM month) <> 1 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'month is not the first day of a month';
	ELSIF num_nulls(capture, pieces, bytes) > 0 OR capture < 0 OR pieces NOT BETWEEN 1 AND 1000000
		OR bytes NOT BETWEEN 0 AND pieces * 1310720::bigint THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'capture, pieces or bytes is out of its range';
	END IF;
	PERFORM fleet_store.head_check(head);
	stamp := fleet_store.head_number(head, 'real');
	at := timestamptz '1970-01-01 00:00:00+00' + stamp / 1000 * interval '1 microsecond';
	IF head ->> 'kind' IS NULL OR head ->> 'kind' NOT IN ('crash', 'watchdog', 'poweroff', 'reboot', 'suspend', 'destroyed', 'ended',
		'periodic', 'manual', 'trigger') THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'head: kind is none of the kinds of a capture';
	ELSIF at IS NULL OR date_trunc('month', at AT TIME ZONE 'UTC')::date <> month THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'head: real does not lie in the month';
	END IF;
	at := timestamptz '1970-01-01 00:00:00+00'
		+ fleet_store.taken(archive, stamp, fleet_store.head_number(head, 'mono')) / 1000 * interval '1 microsecond';
	month := fleet_store.month_file(archive, month, capture, at);
	PERFORM fleet_store.month_check(month);
	SELECT k.pieces, k.bytes, k.head, k.finished INTO c FROM fleet_store.capture k
		WHERE k.host = me AND k.month = month AND k.archive = archive AND k.capture = capture;
	IF FOUND AND (c.pieces, c.bytes, c.head) = (pieces, bytes, head) THEN
		RETURN CASE WHEN c.finished IS NULL THEN 'open' ELSE 'done' END;
	ELSIF FOUND AND c.finished IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'MP006', MESSAGE = format('capture %s of host "%s" is there with other values', capture, me);
	ELSIF FOUND THEN
		-- It changed on the host before all of it was sent: it begins again.
		PERFORM fleet_store.unfinished_remove(me, month, archive, capture);
	END IF;
	PERFORM fleet_store.room_take(month, room, 0, quota, true);
	INSERT INTO fleet_store.capture (host, month, archive, capture, kind, at, week, guest, image, reason, lost_packets, pieces, bytes, room, head)
		VALUES (me, month, archive, capture, head ->> 'kind', at, date_trunc('week', at AT TIME ZONE 'UTC')::date, head ->> 'guest',
			fleet_store.head_text(head, 'image', 255), fleet_store.head_text(head, 'reason', 4096),
			coalesce(fleet_store.head_number(head, 'lost_packets'), 0), pieces, bytes, room, head);
	RETURN 'new';
END
$$;

-- The other functions that take a capture of a host stay as they are, in the schema that nobody else enters; those that hosts know look for
-- the key's month first.
ALTER FUNCTION fleet.put_capture_piece(uuid, date, bigint, text, integer, integer, bigint, integer, integer, integer, bigint, integer, integer,
	bytea, bytea, bytea) SET SCHEMA fleet_store;
ALTER FUNCTION fleet.capture_pieces(uuid, date, bigint) SET SCHEMA fleet_store;
ALTER FUNCTION fleet.inventory(date, uuid, bigint, integer) SET SCHEMA fleet_store;
ALTER FUNCTION fleet.inventory_sums(uuid, date) SET SCHEMA fleet_store;
ALTER FUNCTION fleet.declare_lost(uuid, date, text, bigint, integer, bigint, bigint, bigint, text) SET SCHEMA fleet_store;
REVOKE ALL ON FUNCTION fleet_store.put_capture_piece, fleet_store.capture_pieces, fleet_store.inventory, fleet_store.inventory_sums,
	fleet_store.declare_lost FROM fleet_host;

CREATE FUNCTION fleet.put_capture_piece(archive uuid, month date, capture bigint, part text, stream integer, number integer, sequence bigint,
	"offset" integer, length integer, flags integer, first_timestamp bigint, packet_bytes integer, codec integer, ends bytea, data bytea, sum bytea)
	RETURNS text
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
BEGIN
	PERFORM fleet_store.sender(archive);
	RETURN fleet_store.put_capture_piece(archive, fleet_store.filed_month(archive, month, capture), capture, part, stream, number, sequence,
		"offset", length, flags, first_timestamp, packet_bytes, codec, ends, data, sum);
END
$$;

CREATE OR REPLACE FUNCTION fleet.finish_capture(archive uuid, month date, capture bigint) RETURNS text
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
DECLARE
	filed date;
	answer text;
BEGIN
	PERFORM fleet_store.sender(archive);
	filed := fleet_store.filed_month(archive, month, capture);
	answer := fleet_store.finish_capture(archive, filed, capture);
	IF answer = 'new' THEN
		PERFORM fleet_store.change_add('made', session_user, filed, archive, capture);
	END IF;
	RETURN answer;
END
$$;

CREATE FUNCTION fleet.capture_pieces(archive uuid, month date, capture bigint)
	RETURNS TABLE (part text, stream integer, number integer, sum bytea)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
BEGIN
	PERFORM fleet_store.sender(archive);
	RETURN QUERY SELECT * FROM fleet_store.capture_pieces(archive, fleet_store.filed_month(archive, month, capture), capture);
END
$$;

-- Captures by the month of their stamps. A host without captures that are filed elsewhere asks the old functions, which the shard answers
-- alone.
CREATE FUNCTION fleet.inventory(month date, after_archive uuid, after_capture bigint, max_rows integer)
	RETURNS TABLE (archive uuid, capture bigint, pieces integer, bytes bigint)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
BEGIN
	PERFORM fleet_store.sender();
	IF NOT EXISTS (SELECT FROM fleet_store.filed f WHERE f.host = me) OR max_rows IS NULL OR max_rows NOT BETWEEN 1 AND 10000 THEN
		RETURN QUERY SELECT * FROM fleet_store.inventory(month, after_archive, after_capture, max_rows);
		RETURN;
	END IF;
	RETURN QUERY SELECT * FROM (
		SELECT c.archive, c.capture, c.pieces, c.bytes FROM fleet_store.capture c
			WHERE c.host = me AND c.month = month AND c.finished IS NOT NULL
				AND NOT EXISTS (SELECT FROM fleet_store.filed f WHERE f.host = me AND f.archive = c.archive AND f.capture = c.capture)
		UNION ALL SELECT c.archive, c.capture, c.pieces, c.bytes FROM fleet_store.filed f JOIN fleet_store.capture c
			ON c.month = f.filed AND c.archive = f.archive AND c.capture = f.capture
			WHERE f.host = me AND f.month = month AND c.host = me AND c.finished IS NOT NULL) q
		WHERE after_archive IS NULL OR q.archive > after_archive OR q.archive = after_archive AND q.capture > after_capture
		ORDER BY 1, 2 LIMIT max_rows;
END
$$;

-- SINCE is a month of keys: a capture of an earlier month by its stamp is there if the hub keeps it.
CREATE FUNCTION fleet.inventory_sums(archive uuid, since date)
	RETURNS TABLE (month date, captures bigint, sum bigint, packet_pieces bigint)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
BEGIN
	PERFORM fleet_store.sender(archive);
	IF since IS NULL OR NOT isfinite(since) OR NOT EXISTS (SELECT FROM fleet_store.filed f WHERE f.host = me) THEN
		RETURN QUERY SELECT * FROM fleet_store.inventory_sums(archive, since);
		RETURN;
	END IF;
	RETURN QUERY SELECT coalesce(u.month, c.month), coalesce(c.n, 0), coalesce(c.s, 0), coalesce(u.packet_pieces, 0)
		FROM (SELECT k.month, k.packet_pieces FROM fleet_store.usage k WHERE k.host = me AND k.month >= since) u
		FULL JOIN (SELECT coalesce(f.month, k.month) AS month, count(*) AS n,
			mod(sum(('x' || encode(substr(sha256(int8send(k.capture)), 1, 7), 'hex'))::bit(56)::bigint), 72057594037927936)::bigint AS s
			FROM fleet_store.capture k LEFT JOIN fleet_store.filed f ON f.host = me AND f.archive = archive AND f.capture = k.capture
			WHERE k.host = me AND k.archive = archive AND k.month >= since AND k.finished IS NOT NULL
			GROUP BY 1) c ON c.month = u.month
		ORDER BY 1;
END
$$;

CREATE FUNCTION fleet.declare_lost(archive uuid, month date, kind text, capture bigint, stream integer, first_sequence bigint,
	last_sequence bigint, bytes bigint, reason text) RETURNS text
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
BEGIN
	PERFORM fleet_store.sender(archive);
	IF kind = 'capture' THEN
		month := coalesce((SELECT f.filed FROM fleet_store.filed f
			WHERE f.host = session_user AND f.archive = archive AND f.capture = capture), month);
	END IF;
	RETURN fleet_store.declare_lost(archive, month, kind, capture, stream, first_sequence, last_sequence, bytes, reason);
END
$$;

CREATE OR REPLACE FUNCTION fleet.set_keeps_since(month date) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
DECLARE
	since date;
BEGIN
	IF month IS NULL OR NOT isfinite(month) OR extract(day FROM month) <> 1 OR month > now() THEN
		RAISE EXCEPTION '% is not the first day of a month that has begun', month;
	END IF;
	SELECT s.keeps_since INTO since FROM fleet_store.server s FOR UPDATE;
	IF month < since THEN
		RAISE EXCEPTION 'the hub keeps months since %, and what was before is dropped', to_char(since, 'YYYY-MM');
	END IF;
	UPDATE fleet_store.server SET keeps_since = month;
	DELETE FROM fleet_store.filed f WHERE f.filed < set_keeps_since.month;
END
$$;

GRANT EXECUTE ON FUNCTION fleet.put_clock, fleet.put_capture_piece, fleet.capture_pieces, fleet.inventory, fleet.inventory_sums,
	fleet.declare_lost TO fleet_host;

-- ---- for readers ----

CREATE VIEW fleet.clock_periods AS
	SELECT host, archive, period, began_mono, ended_mono, is_newest, real_offset, correction FROM fleet_store.clock_period;
COMMENT ON VIEW fleet.clock_periods IS 'How the clocks of hosts were set: periods in which none stepped.';
COMMENT ON COLUMN fleet.clock_periods.host IS 'name of the host';
COMMENT ON COLUMN fleet.clock_periods.archive IS 'UUID of the archive of the host';
COMMENT ON COLUMN fleet.clock_periods.period IS 'number of the period, ascending with time';
COMMENT ON COLUMN fleet.clock_periods.began_mono IS 'beginning, CLOCK_MONOTONIC of the host, nanoseconds';
COMMENT ON COLUMN fleet.clock_periods.ended_mono IS 'end, CLOCK_MONOTONIC of the host, nanoseconds; of the newest period: when the host sent it';
COMMENT ON COLUMN fleet.clock_periods.is_newest IS 'true: the period goes on';
COMMENT ON COLUMN fleet.clock_periods.real_offset IS 'CLOCK_REALTIME minus CLOCK_MONOTONIC of the host, nanoseconds';
COMMENT ON COLUMN fleet.clock_periods.correction IS 'nanoseconds to be added to stamps of the period; NULL: not known';
GRANT SELECT ON fleet.clock_periods TO fleet_read, fleet_annotator;

-- Return what is to be added to a stamp of a host to show it, ns: STAMP and MONO as in a head, MONO NULL if it is not known. NULL: the
-- stamp is right, or nobody knows. It has no options, so that PostgreSQL writes its body into the query.
CREATE FUNCTION fleet.correction(host text, archive uuid, stamp text, mono text) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT nullif((SELECT p.correction FROM fleet.clock_periods p WHERE p.host = $1 AND p.archive = $2
		AND CASE WHEN $3 !~ '^[0-9]{1,20}$' OR $4 !~ '^[0-9]{1,20}$' THEN false
			WHEN $4 IS NULL THEN $3::numeric >= p.began_mono + p.real_offset::numeric - 60000000000
				AND (p.is_newest OR $3::numeric <= p.ended_mono + p.real_offset::numeric + 120000000000)
			ELSE $4::numeric >= p.began_mono - 60000000000 AND (p.is_newest OR $4::numeric <= p.ended_mono + 60000000000)
				AND abs($3::numeric - $4::numeric - p.real_offset) <= 2000000000 END
		ORDER BY p.period DESC LIMIT 1), 0)
$$;
GRANT EXECUTE ON FUNCTION fleet.correction TO fleet_read, fleet_annotator;

COMMENT ON COLUMN fleet.captures.month IS 'first day of the month in which it was taken, UTC';
COMMENT ON COLUMN fleet.captures.at IS 'time at which it was taken: the stamp of the host, or the right time if its clock is known to have been wrong';
COMMENT ON COLUMN fleet.newest.last_capture IS 'time of its newest capture';
COMMENT ON COLUMN fleet.newest.last_crash IS 'time of its newest crash';
RESET ROLE;
