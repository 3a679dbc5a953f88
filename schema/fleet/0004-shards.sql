-- The fleet's database, migration 4: shards, and the check. Forward only: a released migration is never edited.
CREATE EXTENSION IF NOT EXISTS postgres_fdw;
GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO fleet_owner;
SET ROLE fleet_owner;

-- Make the foreign table NAME for the relation BASE of a shard, which this server has, too.
CREATE FUNCTION fleet_store.foreign_make(name text, base text, shard text, rows_at_once integer) RETURNS void LANGUAGE plpgsql
	SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	EXECUTE format('CREATE FOREIGN TABLE fleet_store.%I (%s) SERVER %I OPTIONS (schema_name ''fleet_store'', table_name %L, fetch_size %L)', name,
		(SELECT string_agg(format('%I %s%s', a.attname, format_type(a.atttypid, a.atttypmod),
			CASE a.attcollation WHEN '"C"'::regcollation THEN ' COLLATE "C"' ELSE '' END), ', ' ORDER BY a.attnum) FROM pg_attribute a
			WHERE a.attrelid = ('fleet_store.' || base)::regclass AND a.attnum > 0 AND NOT a.attisdropped), shard, base, rows_at_once);
END
$$;

-- Add a shard: its foreign server NAME and the user mapping for fleet_owner are there. It gets no bucket yet.
CREATE FUNCTION fleet.add_shard(name text) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
DECLARE
	theirs record;
	base text;
	ours integer := (SELECT max(number) FROM fleet_store.migration);
BEGIN
	IF name !~ '^[a-z][a-z0-9]{0,20}$' OR name ~ '^p[0-9]' THEN
		RAISE EXCEPTION '"%" is no name of a shard: use 1 to 21 of a-z and 0-9, as in shard1', name;
	END IF;
	PERFORM fleet_store.foreign_make('state_' || name, 'state', name, 100);
	EXECUTE format('SELECT * FROM fleet_store.%I', 'state_' || name) INTO theirs;
	IF theirs.migration <> ours THEN
		RAISE EXCEPTION 'shard "%" has migration % and the hub has %: migrate the older one', name, theirs.migration, ours;
	END IF;
	PERFORM fleet_store.foreign_make('problem_' || name, 'problem', name, 1000);
	-- Lists read the newest rows of a shard.
	PERFORM fleet_store.foreign_make('capture_' || name, 'capture', name, 200);
	FOREACH base IN ARRAY ARRAY['part_image', 'part_cause', 'part_cause_image', 'part_cause_week', 'part_host_week', 'part_host'] LOOP
		PERFORM fleet_store.foreign_make(base || '_' || name, base, name, 10000);
	END LOOP;
END
$$;

-- Renew the views fleet_store.all_*: the rows of this server's own buckets, and of each shard with a bucket. A question is one
-- statement for a shard, where the bucket's foreign tables would be up to 64.
CREATE FUNCTION fleet_store.views_renew() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	own text;
	base text;
BEGIN
	FOREACH base IN ARRAY ARRAY['capture', 'lost'] LOOP
		IF NOT EXISTS (SELECT FROM fleet_store.bucket b WHERE b.shard IS NOT NULL) THEN
			own := 'SELECT * FROM fleet_store.' || base;
		ELSE
			SELECT coalesce(string_agg(format('SELECT * FROM fleet_store.%I', base || '_p' || to_char(b.bucket, 'FM00')), ' UNION ALL '),
				format('SELECT * FROM fleet_store.%I WHERE false', base)) INTO own FROM fleet_store.bucket b WHERE b.shard IS NULL;
		END IF;
		EXECUTE format('CREATE OR REPLACE VIEW fleet_store.%I AS %s', 'own_' || base, own);
	END LOOP;
	FOREACH base IN ARRAY ARRAY['capture', 'part_image', 'part_cause', 'part_cause_image', 'part_cause_week', 'part_host_week', 'part_host'] LOOP
		EXECUTE format('CREATE OR REPLACE VIEW fleet_store.%I AS SELECT * FROM fleet_store.%I', 'all_' || base,
			CASE base WHEN 'capture' THEN 'own_capture' ELSE base END)
			|| (SELECT coalesce(string_agg(format(' UNION ALL SELECT * FROM fleet_store.%I', base || '_' || b.shard), ''), '')
				FROM (SELECT DISTINCT shard FROM fleet_store.bucket WHERE shard IS NOT NULL) b);
	END LOOP;
END
$$;

-- Serve bucket N from a shard, which keeps it.
CREATE FUNCTION fleet.attach_bucket(n integer, shard text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
DECLARE
	p text := 'p' || to_char(n, 'FM00');
	base text;
	there boolean;
BEGIN
	EXECUTE format('SELECT $1 = ANY (s.buckets) FROM fleet_store.%I s', 'state_' || shard) USING n INTO there;
	IF there IS NOT TRUE THEN
		RAISE EXCEPTION 'shard "%" does not keep bucket %: run fleet.make_bucket(%) there, or move the bucket', shard, n, n;
	END IF;
	INSERT INTO fleet_store.bucket VALUES (n, shard);
	FOREACH base IN ARRAY ARRAY['capture', 'capture_piece', 'pinned_piece', 'packet_piece', 'run', 'usage', 'lost'] LOOP
		-- A piece has up to 1 MiB, so few are fetched at once.
		EXECUTE format('CREATE FOREIGN TABLE fleet_store.%I PARTITION OF fleet_store.%I FOR VALUES WITH (MODULUS 64, REMAINDER %s)
			SERVER %I OPTIONS (schema_name ''fleet_store'', fetch_size %L)', base || '_' || p, base, n, shard,
			CASE WHEN base LIKE '%piece' THEN '4' ELSE '1000' END);
	END LOOP;
	EXECUTE format('CREATE FOREIGN TABLE fleet_store.%I PARTITION OF fleet_store.task FOR VALUES IN (%s)
		SERVER %I OPTIONS (schema_name ''fleet_store'')', 'task_' || p, n, shard);
	PERFORM fleet_store.views_renew();
END
$$;

-- Serve bucket N no more. Its hosts try again until it is attached. If this server kept it, its tables stay beside their parents for
-- move-bucket, until drop_bucket().
CREATE FUNCTION fleet.detach_bucket(n integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
DECLARE
	p text := 'p' || to_char(n, 'FM00');
	base text;
	at text;
BEGIN
	DELETE FROM fleet_store.bucket b WHERE b.bucket = n RETURNING b.shard INTO at;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'bucket % is not served here', n;
	END IF;
	PERFORM fleet_store.views_renew();
	FOREACH base IN ARRAY ARRAY['capture', 'capture_piece', 'pinned_piece', 'packet_piece', 'run', 'usage', 'lost', 'task'] LOOP
		IF at IS NULL THEN
			EXECUTE format('ALTER TABLE fleet_store.%I DETACH PARTITION fleet_store.%I', base, base || '_' || p);
		ELSE
			EXECUTE format('DROP FOREIGN TABLE fleet_store.%I', base || '_' || p);
		END IF;
	END LOOP;
END
$$;

-- Drop the tables of bucket N, which was detached from this server.
CREATE FUNCTION fleet.drop_bucket(n integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
DECLARE
	base text;
BEGIN
	IF EXISTS (SELECT FROM fleet_store.bucket b WHERE b.bucket = n) THEN
		RAISE EXCEPTION 'bucket % is served here: detach it first', n;
	END IF;
	FOREACH base IN ARRAY ARRAY['capture', 'capture_piece', 'pinned_piece', 'packet_piece', 'run', 'usage', 'lost', 'task'] LOOP
		EXECUTE format('DROP TABLE fleet_store.%I', base || '_p' || to_char(n, 'FM00'));
	END LOOP;
END
$$;

-- Look for rows in this server's own buckets that lack the row that they belong to, and for captures whose pieces are not those announced.
CREATE FUNCTION fleet_store.problems() RETURNS TABLE (what text, host text, month date, key text) LANGUAGE plpgsql STABLE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_column
DECLARE
	n smallint;
	p text;
BEGIN
	FOR n IN SELECT b.bucket FROM fleet_store.bucket b WHERE b.shard IS NULL ORDER BY 1 LOOP
		p := 'p' || to_char(n, 'FM00');
		RETURN QUERY EXECUTE format('WITH piece AS (
				SELECT host, month, archive, capture, count(*) AS pieces, sum(octet_length(data) + octet_length(ends)) AS bytes FROM (
					SELECT host, month, archive, capture, data, ends FROM fleet_store.%I
					UNION ALL SELECT host, month, archive, capture, data, ends FROM fleet_store.%I) q GROUP BY 1, 2, 3, 4)
			SELECT CASE WHEN c.host IS NULL THEN ''pieces without a capture'' ELSE ''capture without some of its pieces'' END,
				coalesce(c.host, piece.host), coalesce(c.month, piece.month),
				concat_ws('' '', coalesce(c.archive, piece.archive), coalesce(c.capture, piece.capture))
			FROM piece FULL JOIN fleet_store.%I c USING (host, month, archive, capture)
			WHERE c.host IS NULL OR (coalesce(piece.pieces, 0), coalesce(piece.bytes, 0)) <> (c.got_pieces, c.got_bytes)
				OR c.finished IS NOT NULL AND (c.got_pieces, c.got_bytes) <> (c.pieces, c.bytes)',
			'capture_piece_' || p, 'pinned_piece_' || p, 'capture_' || p);
		RETURN QUERY EXECUTE format('SELECT ''packets without a run'', host, month, concat_ws('' '', archive, run)
			FROM (SELECT DISTINCT host, month, archive, run FROM fleet_store.%I) q
			WHERE NOT EXISTS (SELECT FROM fleet_store.%I r WHERE (r.host, r.month, r.archive, r.run) = (q.host, q.month, q.archive, q.run))',
			'packet_piece_' || p, 'run_' || p);
		RETURN QUERY EXECUTE format('SELECT ''capture without its month'', host, month, concat_ws('' '', archive, capture)
			FROM fleet_store.%I c WHERE NOT EXISTS (SELECT FROM fleet_store.%I u WHERE (u.host, u.month) = (c.host, c.month))',
			'capture_' || p, 'usage_' || p);
	END LOOP;
END
$$;
GRANT EXECUTE ON FUNCTION fleet_store.problems TO fleet_router;
CREATE VIEW fleet_store.problem AS SELECT * FROM fleet_store.problems();

-- Look for everything that keys would forbid on one server. Return a row for each problem.
CREATE FUNCTION fleet.check() RETURNS TABLE (what text, host text, month date, key text) LANGUAGE plpgsql SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
DECLARE
	at text;
	theirs record;
	ours integer := (SELECT max(number) FROM fleet_store.migration);
BEGIN
	RETURN QUERY SELECT * FROM fleet_store.problems();
	RETURN QUERY SELECT 'bucket that no server keeps', NULL::text, NULL::date, n::text FROM generate_series(0, 63) n
		WHERE NOT EXISTS (SELECT FROM fleet_store.bucket b WHERE b.bucket = n);
	FOR at IN SELECT DISTINCT b.shard FROM fleet_store.bucket b WHERE b.shard IS NOT NULL LOOP
		EXECUTE format('SELECT * FROM fleet_store.%I', 'state_' || at) INTO theirs;
		IF theirs.migration <> ours THEN
			RETURN QUERY SELECT 'shard with another migration than the hub', NULL::text, NULL::date, at;
		END IF;
		RETURN QUERY SELECT 'bucket of a shard that the hub serves from elsewhere', NULL::text, NULL::date, concat_ws(' ', at, n)
			FROM unnest(theirs.buckets) n WHERE NOT EXISTS (SELECT FROM fleet_store.bucket b WHERE (b.bucket, b.shard) = (n, at));
		RETURN QUERY SELECT 'bucket that its shard does not keep', NULL::text, NULL::date, concat_ws(' ', at, b.bucket)
			FROM fleet_store.bucket b WHERE b.shard = at AND b.bucket <> ALL (theirs.buckets);
		RETURN QUERY EXECUTE format('SELECT * FROM fleet_store.%I', 'problem_' || at);
	END LOOP;
	RETURN QUERY SELECT DISTINCT 'captures of a host that is not registered', c.host, NULL::date, NULL::text FROM fleet_store.capture c
		WHERE NOT EXISTS (SELECT FROM fleet_store.host h WHERE h.host = c.host);
END
$$;
GRANT EXECUTE ON FUNCTION fleet.check TO fleet_admin;
RESET ROLE;
