-- The fleet's database, migration 3: functions for people and for programs beside the hub. Forward only: a released migration is never edited.
SET ROLE fleet_owner;

-- Register a host: its role must be there (CREATE ROLE ... LOGIN). QUOTA_BYTES 0: no limit.
CREATE FUNCTION fleet.add_host(host text, quota_bytes bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
BEGIN
	IF host !~ '^[a-z0-9][a-z0-9._-]{0,62}$' OR host ~ '^(pg_|fleet_|postgres$)' THEN
		RAISE EXCEPTION '"%" is no name of a host: use 1 to 63 of a-z, 0-9, dot, hyphen and underscore', host;
	ELSIF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = host AND pg_has_role(r.oid, 'fleet_host', 'MEMBER') AND NOT r.rolsuper) THEN
		RAISE EXCEPTION 'there is no role "%" in fleet_host: run CREATE ROLE "%" LOGIN CONNECTION LIMIT 4 IN ROLE fleet_host', host, host;
	END IF;
	INSERT INTO fleet_store.host (host, bucket, quota_bytes) VALUES (host, fleet_store.bucket_of(host), quota_bytes)
		ON CONFLICT ON CONSTRAINT host_pkey DO UPDATE SET quota_bytes = EXCLUDED.quota_bytes, revoked = false;
END
$$;

-- Refuse a host from now on. What it sent stays. add_host() takes it again.
CREATE FUNCTION fleet.revoke_host(host text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
BEGIN
	UPDATE fleet_store.host h SET revoked = true WHERE h.host = host;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'there is no host "%"', host;
	END IF;
	PERFORM pg_terminate_backend(a.pid) FROM pg_stat_activity a WHERE a.usename = host;
END
$$;

-- Say which archive is the right one of a host: a new archive, or the one of two hosts of one name.
CREATE FUNCTION fleet.accept_archive(host text, archive uuid) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
BEGIN
	UPDATE fleet_store.host h SET archive = archive WHERE h.host = host;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'there is no host "%"', host;
	END IF;
END
$$;

-- Change the epoch: all hosts compare inventories at their next hello, and send again what is missing. Run it on each server that
-- was restored.
CREATE FUNCTION fleet.new_epoch() RETURNS uuid
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
	UPDATE fleet_store.server SET epoch = gen_random_uuid() RETURNING epoch
$$;

-- Take no month before MONTH from now on. It never goes back. drop_months() then drops what is older.
CREATE FUNCTION fleet.set_keeps_since(month date) RETURNS void
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
END
$$;

-- Drop what is before keeps_since of a bucket and not pinned. It must be another transaction than set_keeps_since(), because a shard
-- commits first.
CREATE FUNCTION fleet.drop_months(bucket integer) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
BEGIN
	IF (SELECT s.xmin = pg_current_xact_id_if_assigned()::xid FROM fleet_store.server s) THEN
		RAISE EXCEPTION 'commit set_keeps_since() first';
	END IF;
	INSERT INTO fleet_store.task SELECT bucket, 'drop', s.keeps_since FROM fleet_store.server s;
END
$$;

-- Make the partitions of this month and the next in a bucket, so that no host makes them while others wait.
CREATE FUNCTION fleet.make_months(bucket integer) RETURNS void
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
	INSERT INTO fleet_store.task SELECT bucket, 'make', (date_trunc('month', now() AT TIME ZONE 'UTC') + n * interval '1 month')::date
	FROM generate_series(0, 1) n
$$;

-- End sessions of hosts whose transaction is older than AGE: its locks stop drop_months(). Return their number.
CREATE FUNCTION fleet.end_idle(age interval) RETURNS bigint
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
	SELECT count(*) FILTER (WHERE pg_terminate_backend(a.pid)) FROM pg_stat_activity a JOIN fleet_store.host h ON h.host = a.usename
	WHERE a.xact_start < clock_timestamp() - age
$$;

-- Remove captures that were begun more than AGE ago and not finished. Return their number.
CREATE FUNCTION fleet.drop_unfinished(age interval) RETURNS bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
DECLARE
	c record;
	removed bigint := 0;
BEGIN
	FOR c IN SELECT k.host, k.month, k.archive, k.capture FROM fleet_store.capture k WHERE k.finished IS NULL AND k.begun < now() - age LOOP
		PERFORM pg_advisory_xact_lock(1836085861, hashtext(c.host));
		IF fleet_store.unfinished_remove(c.host, c.month, c.archive, c.capture) THEN
			removed := removed + 1;
		END IF;
	END LOOP;
	RETURN removed;
END
$$;

CREATE FUNCTION fleet_store.capture_absent(host text, month date, capture bigint) RETURNS void LANGUAGE plpgsql
	SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE EXCEPTION 'there is no capture % of host "%" in %', capture, host, to_char(month, 'YYYY-MM');
END
$$;

-- Pin a capture, so that retention keeps it, or unpin it.
CREATE FUNCTION fleet.pin(host text, month date, archive uuid, capture bigint, pinned boolean) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
BEGIN
	UPDATE fleet_store.capture k SET pinned = pin.pinned
		WHERE k.host = host AND k.month = month AND k.archive = archive AND k.capture = capture AND k.finished IS NOT NULL;
	IF NOT FOUND THEN
		PERFORM fleet_store.capture_absent(host, month, capture);
	END IF;
END
$$;

-- Replace the note of a capture: at most 4,096 bytes.
CREATE FUNCTION fleet.set_note(host text, month date, archive uuid, capture bigint, note text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
BEGIN
	IF note IS NULL OR octet_length(note) > 4096 THEN
		RAISE EXCEPTION 'a note has at most 4096 bytes';
	END IF;
	UPDATE fleet_store.capture k SET note = set_note.note
		WHERE k.host = host AND k.month = month AND k.archive = archive AND k.capture = capture AND k.finished IS NOT NULL;
	IF NOT FOUND THEN
		PERFORM fleet_store.capture_absent(host, month, capture);
	END IF;
END
$$;

-- Store how a capture ended: captures that end alike get the same CAUSE. FAILURE says why the capture could not be read; CAUSE is then
-- NULL.
CREATE FUNCTION fleet.annotate(host text, month date, archive uuid, capture bigint, cause text, sentence text, last_ran text, failure text)
	RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
BEGIN
	IF octet_length(cause) > 64 OR octet_length(sentence) > 1024 OR octet_length(last_ran) > 4096 OR octet_length(failure) > 4096
		OR cause IS NOT NULL AND failure IS NOT NULL THEN
		RAISE EXCEPTION 'cause has at most 64 bytes, sentence 1024 and the other texts 4096, and a capture has a cause or a failure';
	END IF;
	UPDATE fleet_store.capture k SET cause = annotate.cause, sentence = annotate.sentence, last_ran = annotate.last_ran,
			failure = annotate.failure, annotated = now()
		WHERE k.host = host AND k.month = month AND k.archive = archive AND k.capture = capture AND k.finished IS NOT NULL;
	IF NOT FOUND THEN
		PERFORM fleet_store.capture_absent(host, month, capture);
	END IF;
END
$$;

GRANT EXECUTE ON FUNCTION fleet.add_host, fleet.revoke_host, fleet.accept_archive, fleet.new_epoch TO fleet_admin;
GRANT EXECUTE ON FUNCTION fleet.set_keeps_since, fleet.drop_months, fleet.make_months, fleet.end_idle, fleet.drop_unfinished TO fleet_retention;
GRANT EXECUTE ON FUNCTION fleet.pin TO fleet_pin;
GRANT EXECUTE ON FUNCTION fleet.set_note TO fleet_note;
GRANT EXECUTE ON FUNCTION fleet.annotate TO fleet_annotator;
RESET ROLE;
