-- The fleet's database, migration 1: tables. Forward only: a released migration is never edited.
--
-- All servers of a fleet run the same migrations. A host belongs to one of 64 buckets, by the hash of its name. On the server that
-- keeps a bucket, its partitions are plain tables (fleet.make_bucket). On the hub, the partitions of a bucket that a shard
-- keeps are foreign tables (fleet.attach_bucket). Queries name the parents alone, so they are the same in both cases.
--
-- The parents have no key, because PostgreSQL refuses primary and foreign keys on a parent with foreign partitions. Each bucket has
-- its own; fleet.check() looks for rows without the row that they belong to.
--
-- Schema fleet_store has the tables: no sending host may use it. Schema fleet has functions and views.

DO $$
DECLARE
	role text;
BEGIN
	-- fleet_owner owns everything. fleet_router is the role with which the hub comes to a shard. Sending hosts are members of
	-- fleet_host; the other roles are for people and programs beside the hub.
	FOREACH role IN ARRAY ARRAY['fleet_owner', 'fleet_router', 'fleet_host', 'fleet_read', 'fleet_note', 'fleet_pin', 'fleet_retention',
		'fleet_admin', 'fleet_annotator']
	LOOP
		IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
			EXECUTE format('CREATE ROLE %I %s', role, CASE role WHEN 'fleet_router' THEN 'LOGIN' ELSE 'NOLOGIN' END);
		END IF;
	END LOOP;
	EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
	EXECUTE format('GRANT CONNECT ON DATABASE %I TO fleet_router, fleet_host, fleet_read, fleet_note, fleet_pin, fleet_retention,
		fleet_admin, fleet_annotator', current_database());
	-- Aggregates are computed on the shards.
	EXECUTE format('ALTER DATABASE %I SET enable_partitionwise_aggregate = on', current_database());
	EXECUTE format('ALTER DATABASE %I SET enable_partitionwise_join = on', current_database());
END
$$;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
CREATE SCHEMA fleet AUTHORIZATION fleet_owner;
GRANT USAGE ON SCHEMA fleet TO fleet_host, fleet_read, fleet_note, fleet_pin, fleet_retention, fleet_admin, fleet_annotator;
ALTER SCHEMA fleet_store OWNER TO fleet_owner;
ALTER TABLE fleet_store.migration OWNER TO fleet_owner;
GRANT USAGE ON SCHEMA fleet_store TO fleet_router;
ALTER DEFAULT PRIVILEGES FOR ROLE fleet_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE fleet_owner IN SCHEMA fleet_store GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO fleet_router;
-- fleet_owner ends transactions of hosts that stay open.
GRANT pg_signal_backend, pg_read_all_stats TO fleet_owner;
SET ROLE fleet_owner;

-- This server. One row.
CREATE TABLE fleet_store.server (
	id          integer PRIMARY KEY CHECK (id = 0),
	epoch       uuid NOT NULL,           -- changed by fleet.new_epoch()
	keeps_since date NOT NULL            -- on the hub: months before this one are not taken
);
INSERT INTO fleet_store.server VALUES (0, gen_random_uuid(), '2000-01-01');

-- Texts have the collation C in all tables: it is the fastest, and no upgrade of the C library changes the order of an index.

-- The server of each bucket; on the hub. A bucket without a row is nowhere.
CREATE TABLE fleet_store.bucket (
	bucket smallint PRIMARY KEY CHECK (bucket BETWEEN 0 AND 63),
	shard  text COLLATE "C"              -- name of the foreign server; NULL: this server
);

-- The registered hosts; on the hub.
CREATE TABLE fleet_store.host (
	host        text COLLATE "C" PRIMARY KEY, -- name of the role
	bucket      smallint NOT NULL,
	archive     uuid,                    -- NULL: the first hello sets it
	quota_bytes bigint NOT NULL CHECK (quota_bytes >= 0), -- 0: no limit
	revoked     boolean NOT NULL DEFAULT false,
	registered  timestamptz NOT NULL DEFAULT now(),
	last_hello  timestamptz,
	clock       jsonb                    -- state of the host's NTP at the last hello
);

-- Captures. Not partitioned by month: the row is small, and the row of a pinned capture stays.
CREATE TABLE fleet_store.capture (
	host         text COLLATE "C" NOT NULL,
	month        date NOT NULL,
	archive      uuid NOT NULL,
	capture      bigint NOT NULL,
	kind         text COLLATE "C" NOT NULL,
	at           timestamptz NOT NULL,   -- head's member real, to a microsecond
	week         date NOT NULL,          -- the Monday of that week, in UTC
	guest        text COLLATE "C" NOT NULL,
	image        text COLLATE "C",        -- at most 255 bytes, as guest: an index has both
	reason       text COLLATE "C",
	lost_packets bigint NOT NULL,
	pieces       integer NOT NULL,       -- announced
	bytes        bigint NOT NULL,
	got_pieces   integer NOT NULL DEFAULT 0, -- stored until now
	got_bytes    bigint NOT NULL DEFAULT 0,
	room         bigint NOT NULL,        -- what the capture takes of the quota: fleet_store.room()
	begun        timestamptz NOT NULL DEFAULT now(),
	finished     timestamptz,            -- NULL: not complete; readers do not see it
	pinned       boolean NOT NULL DEFAULT false,
	note         text COLLATE "C" NOT NULL DEFAULT '',
	cause        text COLLATE "C",        -- captures that end alike have the same; NULL: not known
	sentence     text COLLATE "C",        -- the cause in words, at most 1,024 bytes
	last_ran     text COLLATE "C",        -- the thread that ran last
	annotated    timestamptz,            -- NULL: the annotator has not read the capture
	failure      text COLLATE "C",        -- why the annotator failed; NULL: it did not
	head         jsonb NOT NULL
) PARTITION BY HASH (host);

-- Pieces of captures, by month.
CREATE TABLE fleet_store.capture_piece (
	host            text COLLATE "C" NOT NULL,
	month           date NOT NULL,
	archive         uuid NOT NULL,
	capture         bigint NOT NULL,
	part            text COLLATE "C" NOT NULL,
	stream          integer NOT NULL,
	number          integer NOT NULL,
	sequence        bigint NOT NULL,
	"offset"        integer NOT NULL,
	length          integer NOT NULL,
	flags           integer NOT NULL,
	first_timestamp bigint NOT NULL,
	packet_bytes    integer NOT NULL,
	codec           integer NOT NULL,
	sum             bytea NOT NULL,
	ends            bytea NOT NULL,
	data            bytea NOT NULL
) PARTITION BY HASH (host);
ALTER TABLE fleet_store.capture_piece ALTER COLUMN data SET STORAGE EXTERNAL;

-- Pieces of pinned captures. Dropping a month does not touch them.
CREATE TABLE fleet_store.pinned_piece (LIKE fleet_store.capture_piece INCLUDING STORAGE) PARTITION BY HASH (host);

-- Pieces of complete packets, by month.
CREATE TABLE fleet_store.packet_piece (
	host            text COLLATE "C" NOT NULL,
	month           date NOT NULL,
	archive         uuid NOT NULL,
	run             bigint NOT NULL,
	stream          integer NOT NULL,
	sequence        bigint NOT NULL,
	number          integer NOT NULL,
	pieces          integer NOT NULL,
	"offset"        integer NOT NULL,
	length          integer NOT NULL,
	flags           integer NOT NULL,
	first_timestamp bigint NOT NULL,
	packet_bytes    integer NOT NULL,
	codec           integer NOT NULL,
	sum             bytea NOT NULL,
	ends            bytea NOT NULL,
	data            bytea NOT NULL
) PARTITION BY HASH (host);
ALTER TABLE fleet_store.packet_piece ALTER COLUMN data SET STORAGE EXTERNAL;

-- The runs of packets.
CREATE TABLE fleet_store.run (
	host    text COLLATE "C" NOT NULL,
	month   date NOT NULL,
	archive uuid NOT NULL,
	run     bigint NOT NULL,
	guest   text COLLATE "C" NOT NULL,
	head    jsonb NOT NULL
) PARTITION BY HASH (host);

-- The months of a host. Inserting a row makes the month's partitions.
CREATE TABLE fleet_store.usage (
	host          text COLLATE "C" NOT NULL,
	month         date NOT NULL,
	bytes         bigint NOT NULL DEFAULT 0, -- of the quota: fleet_store.room() of captures, packet pieces and runs
	packet_pieces bigint NOT NULL DEFAULT 0,
	losses        integer NOT NULL DEFAULT 0
) PARTITION BY HASH (host);

-- Packets and captures that a host deleted before they were sent.
CREATE TABLE fleet_store.lost (
	host           text COLLATE "C" NOT NULL,
	month          date NOT NULL,
	archive        uuid NOT NULL,
	kind           text COLLATE "C" NOT NULL, -- 'capture' or 'packets'
	capture        bigint NOT NULL,
	stream         integer NOT NULL,
	first_sequence bigint NOT NULL,
	last_sequence  bigint NOT NULL,
	bytes          bigint NOT NULL,
	reason         text COLLATE "C" NOT NULL,
	declared       timestamptz NOT NULL DEFAULT now()
) PARTITION BY HASH (host);

-- An insertion does something to a bucket on the server that keeps it; no row is stored.
--   make  make the partitions of MONTH
--   drop  drop everything before MONTH that is not pinned
CREATE TABLE fleet_store.task (
	bucket smallint NOT NULL,
	what   text COLLATE "C" NOT NULL,
	month  date NOT NULL
) PARTITION BY LIST (bucket);

-- Return the bucket of a host.
CREATE FUNCTION fleet_store.bucket_of(host text) RETURNS smallint LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT n::smallint FROM generate_series(0, 63) n
	WHERE satisfies_hash_partition('fleet_store.capture'::regclass, 64, n, host)
$$;

-- Make the partitions of a month in bucket N, unless they are there. A partition is made beside its parent and then attached, which
-- waits for no transaction that writes to other months.
CREATE FUNCTION fleet_store.month_make(n integer, month date) RETURNS void LANGUAGE plpgsql
	SET search_path = pg_catalog, pg_temp SET default_tablespace = '' SET default_table_access_method = 'heap' AS $$
DECLARE
	base text;
	parent text;
	child text;
	value text := to_char(month, 'YYYY-MM-DD'); -- whatever format of dates the session has
BEGIN
	FOREACH base IN ARRAY ARRAY['capture_piece', 'packet_piece'] LOOP
		parent := format('%s_p%s', base, to_char(n, 'FM00'));
		child := format('%s_%s', parent, to_char(month, 'YYYY_MM'));
		CONTINUE WHEN to_regclass('fleet_store.' || child) IS NOT NULL;
		-- Others that make a month of this bucket wait here. An advisory lock would not do: whoever waited for it
		-- would still see the catalog as it was before.
		EXECUTE format('LOCK TABLE ONLY fleet_store.%I IN SHARE UPDATE EXCLUSIVE MODE', parent);
		CONTINUE WHEN to_regclass('fleet_store.' || child) IS NOT NULL;
		EXECUTE format('CREATE TABLE fleet_store.%I (LIKE fleet_store.%I INCLUDING STORAGE INCLUDING CONSTRAINTS,
			CONSTRAINT in_month CHECK (month = %L))', child, parent, value);
		EXECUTE format('ALTER TABLE fleet_store.%I ATTACH PARTITION fleet_store.%I FOR VALUES IN (%L)', parent, child, value);
		EXECUTE format('ALTER TABLE fleet_store.%I DROP CONSTRAINT in_month', child);
	END LOOP;
END
$$;

-- Drop all of bucket N before MONTH, but not pinned captures.
CREATE FUNCTION fleet_store.month_drop(n integer, month date) RETURNS void LANGUAGE plpgsql
	SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
	p text := 'p' || to_char(n, 'FM00');
	child regclass;
BEGIN
	FOR child IN
		SELECT i.inhrelid::regclass FROM pg_inherits i
		WHERE i.inhparent IN (to_regclass('fleet_store.capture_piece_' || p), to_regclass('fleet_store.packet_piece_' || p))
			AND right(i.inhrelid::regclass::text, 7) < to_char(month, 'YYYY_MM')
	LOOP
		EXECUTE format('DROP TABLE %s', child);
	END LOOP;
	EXECUTE format('DELETE FROM fleet_store.%I WHERE month < $1', 'run_' || p) USING month;
	EXECUTE format('DELETE FROM fleet_store.%I WHERE month < $1', 'lost_' || p) USING month;
	EXECUTE format('DELETE FROM fleet_store.%I WHERE month < $1 AND NOT pinned', 'capture_' || p) USING month;
	EXECUTE format('DELETE FROM fleet_store.%I p WHERE month < $1 AND NOT EXISTS (SELECT FROM fleet_store.%I c
		WHERE c.host = p.host AND c.month = p.month AND c.archive = p.archive AND c.capture = p.capture)',
		'pinned_piece_' || p, 'capture_' || p) USING month;
	EXECUTE format('DELETE FROM fleet_store.%I u WHERE month < $1 AND NOT EXISTS (SELECT FROM fleet_store.%I c
		WHERE c.host = u.host AND c.month = u.month)', 'usage_' || p, 'capture_' || p) USING month;
	EXECUTE format('UPDATE fleet_store.%I u SET packet_pieces = 0, losses = 0, bytes = (SELECT sum(c.room) FROM fleet_store.%I c
		WHERE c.host = u.host AND c.month = u.month) WHERE month < $1', 'usage_' || p, 'capture_' || p) USING month;
END
$$;

-- Trigger before an insertion in a bucket's table task.
CREATE FUNCTION fleet_store.task_run() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
BEGIN
	CASE NEW.what
	WHEN 'make' THEN PERFORM fleet_store.month_make(NEW.bucket, NEW.month);
	WHEN 'drop' THEN PERFORM fleet_store.month_drop(NEW.bucket, NEW.month);
	END CASE;
	RETURN NULL;
END
$$;

-- Trigger before an insertion in a bucket's table usage.
CREATE FUNCTION fleet_store.usage_added() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
BEGIN
	PERFORM fleet_store.month_make(right(TG_TABLE_NAME, 2)::integer, NEW.month);
	RETURN NEW;
END
$$;

-- Trigger before a capture is pinned: move its pieces to where dropping a month does not reach. When it is unpinned, they stay
-- there until retention drops their month.
CREATE FUNCTION fleet_store.capture_pinned() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
BEGIN
	INSERT INTO fleet_store.pinned_piece SELECT * FROM fleet_store.capture_piece p
		WHERE p.host = NEW.host AND p.month = NEW.month AND p.archive = NEW.archive AND p.capture = NEW.capture;
	DELETE FROM fleet_store.capture_piece p
		WHERE p.host = NEW.host AND p.month = NEW.month AND p.archive = NEW.archive AND p.capture = NEW.capture;
	RETURN NEW;
END
$$;

-- Make bucket N on this server, empty.
CREATE FUNCTION fleet.make_bucket(n integer) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
DECLARE
	p text := 'p' || to_char(n, 'FM00');
	base text;
	keys CONSTANT jsonb := '{
		"capture": "host, month, archive, capture",
		"capture_piece": "host, month, archive, capture, part, stream, number",
		"pinned_piece": "host, month, archive, capture, part, stream, number",
		"packet_piece": "host, month, archive, stream, sequence, number",
		"run": "host, month, archive, run",
		"usage": "host, month",
		"lost": "host, month, archive, kind, capture, stream, first_sequence"}';
BEGIN
	FOR base IN SELECT jsonb_object_keys(keys) LOOP
		EXECUTE format('CREATE TABLE fleet_store.%I PARTITION OF fleet_store.%I FOR VALUES WITH (MODULUS 64, REMAINDER %s)%s',
			base || '_' || p, base, n, CASE WHEN base IN ('capture_piece', 'packet_piece') THEN ' PARTITION BY LIST (month)' ELSE '' END);
		EXECUTE format('ALTER TABLE fleet_store.%I ADD PRIMARY KEY (%s)', base || '_' || p, keys ->> base);
	END LOOP;
	EXECUTE format('CREATE TABLE fleet_store.%I PARTITION OF fleet_store.task FOR VALUES IN (%s)', 'task_' || p, n);
	EXECUTE format('CREATE INDEX ON fleet_store.%I (at) WHERE finished IS NOT NULL', 'capture_' || p);
	-- The views of 0005-views.sql read these two alone.
	EXECUTE format('CREATE INDEX ON fleet_store.%I (host, cause, image, week) INCLUDE (at, guest, sentence)
		WHERE finished IS NOT NULL AND kind IN (''crash'', ''watchdog'')', 'capture_' || p);
	EXECUTE format('CREATE INDEX ON fleet_store.%I (host) INCLUDE (kind, at, finished, lost_packets) WHERE finished IS NOT NULL',
		'capture_' || p);
	EXECUTE format('CREATE INDEX ON fleet_store.%I (begun) WHERE annotated IS NULL', 'capture_' || p);
	EXECUTE format('CREATE TRIGGER task_run BEFORE INSERT ON fleet_store.%I FOR EACH ROW EXECUTE FUNCTION fleet_store.task_run()',
		'task_' || p);
	EXECUTE format('CREATE TRIGGER usage_added BEFORE INSERT ON fleet_store.%I FOR EACH ROW EXECUTE FUNCTION fleet_store.usage_added()',
		'usage_' || p);
	EXECUTE format('CREATE TRIGGER capture_pinned BEFORE UPDATE ON fleet_store.%I FOR EACH ROW
		WHEN (NEW.pinned AND NOT OLD.pinned) EXECUTE FUNCTION fleet_store.capture_pinned()', 'capture_' || p);
	INSERT INTO fleet_store.bucket VALUES (n, NULL);
	IF EXISTS (SELECT FROM fleet_store.bucket b WHERE b.shard IS NOT NULL) THEN
		PERFORM fleet_store.views_renew();
	END IF;
END
$$;

-- The state of this server that a restore or a promotion changes: another system, or another timeline. new_epoch() changes it, too.
CREATE FUNCTION fleet_store.epoch_now() RETURNS uuid
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
	SELECT md5(concat_ws(' ', s.epoch, c.system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8)))::uuid
	FROM fleet_store.server s, pg_control_system() c
$$;
GRANT EXECUTE ON FUNCTION fleet_store.epoch_now() TO fleet_router;

-- Questions of the hub to a shard about itself.
CREATE VIEW fleet_store.state AS
	SELECT fleet_store.epoch_now() AS epoch, (SELECT max(number) FROM fleet_store.migration) AS migration,
		(SELECT array_agg(bucket ORDER BY bucket) FROM fleet_store.bucket WHERE shard IS NULL) AS buckets;
RESET ROLE;
