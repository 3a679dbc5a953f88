-- The fleet's database, migration 16: what an annotator found damaged in a capture. Forward only: a released migration is never edited.
SET ROLE fleet_owner;

-- Captures that were read by an annotator that counts damage; on the hub. A capture without a row: nobody knows.
CREATE TABLE fleet_store.damage (
	host            text COLLATE "C" NOT NULL,
	month           date NOT NULL,
	archive         uuid NOT NULL,
	capture         bigint NOT NULL,
	damages         bigint NOT NULL,      -- places that cannot be decoded
	skipped_bytes   bigint NOT NULL,      -- bytes that were skipped there
	unproven_events bigint NOT NULL,      -- events behind these places, to the ends of their packets
	CONSTRAINT damage_pkey PRIMARY KEY (host, month, archive, capture)
);
REVOKE ALL ON fleet_store.damage FROM fleet_router;

-- The same, with what was found damaged; all three NULL: not known. Annotators of earlier versions call the other one.
CREATE FUNCTION fleet.annotation_done(host text, month date, archive uuid, capture bigint, cause text, sentence text, last_ran text,
	failure text, damages bigint, skipped_bytes bigint, unproven_events bigint) RETURNS boolean
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
BEGIN
	IF num_nulls(damages, skipped_bytes, unproven_events) NOT IN (0, 3) OR least(damages, skipped_bytes, unproven_events) < 0 THEN
		RAISE EXCEPTION 'damages, skipped_bytes and unproven_events are at least 0, or all NULL';
	ELSIF NOT fleet.annotation_done(host, month, archive, capture, cause, sentence, last_ran, failure) THEN
		RETURN false;
	END IF;
	DELETE FROM fleet_store.damage d WHERE d.host = host AND d.month = month AND d.archive = archive AND d.capture = capture;
	IF damages IS NOT NULL THEN
		INSERT INTO fleet_store.damage VALUES (host, month, archive, capture, damages, skipped_bytes, unproven_events);
	END IF;
	RETURN true;
END
$$;
GRANT EXECUTE ON FUNCTION fleet.annotation_done(text, date, uuid, bigint, text, text, text, text, bigint, bigint, bigint) TO fleet_annotator;

CREATE OR REPLACE FUNCTION fleet.drop_months(bucket integer) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
BEGIN
	PERFORM fleet_store.drop_months(bucket);
	-- Pinned captures stay.
	DELETE FROM fleet_store.damage d WHERE d.month < (SELECT s.keeps_since FROM fleet_store.server s) AND NOT EXISTS (
		SELECT FROM fleet_store.capture k WHERE k.host = d.host AND k.month = d.month AND k.archive = d.archive AND k.capture = d.capture);
	PERFORM fleet_store.change_add('dropped', NULL, NULL, NULL, NULL);
END
$$;

-- ---- for readers ----

CREATE VIEW fleet.damages AS SELECT host, month, archive, capture, damages, skipped_bytes, unproven_events FROM fleet_store.damage;
COMMENT ON VIEW fleet.damages IS 'What annotators found damaged in captures. A capture that is missing was not read by one that counts damage.';
COMMENT ON COLUMN fleet.damages.host IS 'name of the host';
COMMENT ON COLUMN fleet.damages.month IS 'first day of the month in which the capture was taken, UTC';
COMMENT ON COLUMN fleet.damages.archive IS 'UUID of the archive of the host';
COMMENT ON COLUMN fleet.damages.capture IS 'number of the capture on its host';
COMMENT ON COLUMN fleet.damages.damages IS 'places at which the newest 32 MiB of the capture cannot be decoded, in proven bytes, too';
COMMENT ON COLUMN fleet.damages.skipped_bytes IS 'bytes that a decoder skips there';
COMMENT ON COLUMN fleet.damages.unproven_events IS 'events behind these places, to the ends of their packets';
GRANT SELECT ON fleet.damages TO fleet_read, fleet_annotator;

-- Return damages, skipped_bytes and unproven_events of a capture; NULL: not known. It has no options, so that PostgreSQL writes its body into
-- the query.
CREATE FUNCTION fleet.damage(host text, month date, archive uuid, capture bigint) RETURNS bigint[] LANGUAGE sql STABLE AS $$
	SELECT (SELECT ARRAY[d.damages, d.skipped_bytes, d.unproven_events] FROM fleet.damages d
		WHERE d.host = $1 AND d.month = $2 AND d.archive = $3 AND d.capture = $4)
$$;
GRANT EXECUTE ON FUNCTION fleet.damage TO fleet_read, fleet_annotator;
RESET ROLE;
