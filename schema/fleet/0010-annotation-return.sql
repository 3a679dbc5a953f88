-- The fleet's database, migration 10: an annotator gives back what it could not read for a reason of its own. Forward only: a released
-- migration is never edited.
SET ROLE fleet_owner;

-- Take back a capture that annotation_take() handed out, as if it had not been: the annotator's disk is full, or it lost its
-- connection. It is handed out again after PAUSE. Do nothing if it is not handed out.
CREATE FUNCTION fleet.annotation_return(host text, month date, archive uuid, capture bigint, pause interval) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
BEGIN
	IF pause IS NULL OR NOT pause BETWEEN interval '0 seconds' AND interval '1 hour' THEN
		RAISE EXCEPTION 'pause is 0 s to 1 hour';
	END IF;
	UPDATE fleet_store.annotation a SET attempts = attempts - 1, ends = clock_timestamp() + pause
		WHERE a.host = host AND a.month = month AND a.archive = archive AND a.capture = capture AND a.ends < 'infinity';
	-- A capture that retention dropped meanwhile needs no row.
	DELETE FROM fleet_store.annotation a WHERE a.host = host AND a.month = month AND a.archive = archive AND a.capture = capture
		AND NOT EXISTS (SELECT FROM fleet_store.capture k
			WHERE k.host = host AND k.month = month AND k.archive = archive AND k.capture = capture);
END
$$;

GRANT EXECUTE ON FUNCTION fleet.annotation_return TO fleet_annotator;
RESET ROLE;
