-- The fleet's database, migration 8: captures are handed to annotators one by one. Forward only: a released migration is never edited.
SET ROLE fleet_owner;

-- Captures that an annotator reads now, or that it failed to read; on the hub. A capture that was read has no row.
CREATE TABLE fleet_store.annotation (
	host     text COLLATE "C" NOT NULL,
	month    date NOT NULL,
	archive  uuid NOT NULL,
	capture  bigint NOT NULL,
	version  text COLLATE "C" NOT NULL,   -- of the annotator that took it last
	attempts integer NOT NULL,            -- how often it was taken
	ends     timestamptz NOT NULL,        -- until then it is not handed out again; infinity: reading failed
	CONSTRAINT annotation_pkey PRIMARY KEY (host, month, archive, capture)
);
REVOKE ALL ON fleet_store.annotation FROM fleet_router;

-- Hand out a finished capture that was not read, crashes first, then the oldest; no row if there is none. It is handed out again
-- if LEASE passes before annotation_done(): at most three times, then it is marked as failed.
CREATE FUNCTION fleet.annotation_take(version text, lease interval) RETURNS TABLE (host text, month date, archive uuid, capture bigint)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_column
DECLARE
	c record;
BEGIN
	IF annotation_take.version IS NULL OR octet_length(annotation_take.version) NOT BETWEEN 1 AND 64
		OR lease IS NULL OR NOT lease BETWEEN interval '1 millisecond' AND interval '1 hour' THEN
		RAISE EXCEPTION 'version has 1 to 64 bytes, and lease is 1 ms to 1 hour';
	END IF;
	-- One annotator at a time chooses: the other sees what the first one took.
	PERFORM pg_advisory_xact_lock(1836085861, 8);
	FOR c IN SELECT k.host, k.month, k.archive, k.capture, a.attempts
		FROM fleet_store.capture k LEFT JOIN fleet_store.annotation a USING (host, month, archive, capture)
		WHERE k.finished IS NOT NULL AND k.annotated IS NULL AND (a.ends IS NULL OR a.ends <= clock_timestamp())
		ORDER BY k.kind IN ('crash', 'watchdog') DESC, k.at, k.host, k.archive, k.capture LIMIT 16
	LOOP
		IF c.attempts >= 3 THEN
			PERFORM fleet.annotate(c.host, c.month, c.archive, c.capture, NULL, NULL, NULL,
				'the annotator ended three times while it read this capture');
			UPDATE fleet_store.annotation a SET ends = 'infinity', version = annotation_take.version
				WHERE (a.host, a.month, a.archive, a.capture) = (c.host, c.month, c.archive, c.capture);
			CONTINUE;
		END IF;
		INSERT INTO fleet_store.annotation AS a VALUES (c.host, c.month, c.archive, c.capture, annotation_take.version, 1,
				clock_timestamp() + lease)
			ON CONFLICT ON CONSTRAINT annotation_pkey
			DO UPDATE SET version = EXCLUDED.version, attempts = a.attempts + 1, ends = EXCLUDED.ends;
		RETURN QUERY SELECT c.host, c.month, c.archive, c.capture;
		RETURN;
	END LOOP;
END
$$;

-- Store what was read of a capture, as annotate(). With a FAILURE it is left alone until annotation_retry(). Return false, and store
-- nothing, if the capture is not taken: another annotator was faster, or the lease passed and it was marked as failed.
CREATE FUNCTION fleet.annotation_done(host text, month date, archive uuid, capture bigint, cause text, sentence text, last_ran text,
	failure text) RETURNS boolean
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
BEGIN
	PERFORM FROM fleet_store.annotation a WHERE a.host = host AND a.month = month AND a.archive = archive AND a.capture = capture
		AND a.ends < 'infinity' FOR UPDATE;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM fleet.annotate(host, month, archive, capture, cause, sentence, last_ran, failure);
	IF failure IS NULL THEN
		DELETE FROM fleet_store.annotation a
			WHERE a.host = host AND a.month = month AND a.archive = archive AND a.capture = capture;
	ELSE
		UPDATE fleet_store.annotation a SET ends = 'infinity'
			WHERE a.host = host AND a.month = month AND a.archive = archive AND a.capture = capture;
	END IF;
	RETURN true;
END
$$;

-- Hand out again what annotators of other versions than VERSION failed to read. Return the number of captures.
CREATE FUNCTION fleet.annotation_retry(version text) RETURNS bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_column
DECLARE
	a record;
	n bigint := 0;
BEGIN
	FOR a IN DELETE FROM fleet_store.annotation f WHERE f.ends = 'infinity' AND f.version <> annotation_retry.version
		RETURNING f.host, f.month, f.archive, f.capture
	LOOP
		UPDATE fleet_store.capture k SET annotated = NULL, failure = NULL
			WHERE k.host = a.host AND k.month = a.month AND k.archive = a.archive AND k.capture = a.capture;
		n := n + (CASE WHEN FOUND THEN 1 ELSE 0 END);
	END LOOP;
	RETURN n;
END
$$;

GRANT EXECUTE ON FUNCTION fleet.annotation_take, fleet.annotation_done, fleet.annotation_retry TO fleet_annotator;
RESET ROLE;
