-- The fleet's database, migration 14: losses inside of captures, and what unfinished captures leave. Forward only: a released migration is
-- never edited.
SET ROLE fleet_owner;

-- The heads of captures say what was damaged on the host before the capture was sent. A head is JSON of a host, so nothing of it is taken
-- without a look.
CREATE OR REPLACE VIEW fleet.losses AS
	SELECT * FROM fleet_store.lost
	UNION ALL
	SELECT c.host, c.month, c.archive, 'range' COLLATE "C", c.capture, coalesce(d.stream, 0), coalesce(d.first_sequence, 0),
		coalesce(greatest(d.first_sequence, d.next_sequence - 1), 0), 0::bigint, 'damaged' COLLATE "C", c.finished
	FROM fleet_store.capture c CROSS JOIN LATERAL (
		SELECT CASE WHEN g ->> 'stream' ~ '^[0-9]{1,9}$' THEN (g ->> 'stream')::integer END AS stream,
			CASE WHEN g ->> 'after_sequence' ~ '^[0-9]{1,18}$' THEN (g ->> 'after_sequence')::bigint END AS first_sequence,
			CASE WHEN g ->> 'next_sequence' ~ '^[0-9]{1,18}$' THEN (g ->> 'next_sequence')::bigint END AS next_sequence
			FROM jsonb_array_elements(CASE jsonb_typeof(c.head -> 'gaps') WHEN 'array' THEN c.head -> 'gaps' ELSE '[]' END) g
			WHERE g ->> 'reason' = 'damaged'
		UNION ALL SELECT CASE WHEN s ->> 'id' ~ '^[0-9]{1,9}$' THEN (s ->> 'id')::integer END, NULL, NULL
			FROM jsonb_array_elements(CASE jsonb_typeof(c.head -> 'streams') WHEN 'array' THEN c.head -> 'streams' ELSE '[]' END) s
			WHERE s ->> 'last_offset' = '0' AND coalesce(s ->> 'tail_marked', '0') <> '0'
		UNION ALL SELECT NULL, NULL, NULL WHERE c.head -> 'lacks' = 'true'
	) d
	WHERE c.finished IS NOT NULL AND (c.head @> '{"gaps": [{"reason": "damaged"}]}' OR c.head @> '{"streams": [{"last_offset": 0}]}'
		OR c.head @> '{"lacks": true}');
COMMENT ON VIEW fleet.losses IS 'What hosts declared as deleted before it was sent, and as damaged inside of captures.';
COMMENT ON COLUMN fleet.losses.kind IS 'capture; packets; or range: a part of a capture that is here';
COMMENT ON COLUMN fleet.losses.month IS 'month of what was deleted, or of the capture';
COMMENT ON COLUMN fleet.losses.stream IS 'stream of the packets; 0: a capture, or a range of a stream that is not known';
COMMENT ON COLUMN fleet.losses.first_sequence IS 'sequence of the first packet that is missing, wholly or in part; 0: a capture, or all that it had of the stream';
COMMENT ON COLUMN fleet.losses.last_sequence IS 'sequence of the last packet; 0: a capture, or all that it had of the stream';
COMMENT ON COLUMN fleet.losses.bytes IS 'bytes on the host; 0: not known';
COMMENT ON COLUMN fleet.losses.declared IS 'time at which the host said so, or at which the capture was complete here';

-- Forget in which month a capture was filed that is not there any more.
CREATE FUNCTION fleet_store.filed_forget(host text, archive uuid, capture bigint) RETURNS void LANGUAGE sql
	SET search_path = pg_catalog, pg_temp AS $$
	DELETE FROM fleet_store.filed f WHERE f.host = $1 AND f.archive = $2 AND f.capture = $3
		AND NOT EXISTS (SELECT FROM fleet_store.capture k WHERE k.host = $1 AND k.month = f.filed AND k.archive = $2 AND k.capture = $3)
$$;

CREATE OR REPLACE FUNCTION fleet.drop_unfinished(age interval) RETURNS bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
DECLARE
	c record;
	removed bigint := 0;
BEGIN
	FOR c IN SELECT k.host, k.month, k.archive, k.capture FROM fleet_store.capture k WHERE k.finished IS NULL AND k.begun < now() - age LOOP
		PERFORM pg_advisory_xact_lock(1836085861, hashtext(c.host));
		IF fleet_store.unfinished_remove(c.host, c.month, c.archive, c.capture) THEN
			PERFORM fleet_store.filed_forget(c.host, c.archive, c.capture);
			removed := removed + 1;
		END IF;
	END LOOP;
	RETURN removed;
END
$$;

-- A capture that is lost may have begun in another month: that of its stamp, before the hub knew the host's clock. A repeated call finds the
-- loss in the month in which the first call declared it.
CREATE OR REPLACE FUNCTION fleet.declare_lost(archive uuid, month date, kind text, capture bigint, stream integer, first_sequence bigint,
	last_sequence bigint, bytes bigint, reason text) RETURNS text
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
	answer text;
	begun date;
BEGIN
	PERFORM fleet_store.sender(archive);
	IF kind IS DISTINCT FROM 'capture' THEN
		RETURN fleet_store.declare_lost(archive, month, kind, capture, stream, first_sequence, last_sequence, bytes, reason);
	END IF;
	month := coalesce((SELECT l.month FROM fleet_store.lost l WHERE l.host = me AND l.archive = archive AND l.kind = 'capture'
			AND l.capture = capture ORDER BY l.month DESC LIMIT 1),
		(SELECT f.filed FROM fleet_store.filed f WHERE f.host = me AND f.archive = archive AND f.capture = capture), month);
	answer := fleet_store.declare_lost(archive, month, kind, capture, stream, first_sequence, last_sequence, bytes, reason);
	FOR begun IN SELECT k.month FROM fleet_store.capture k WHERE k.host = me AND k.archive = archive AND k.capture = capture
		AND k.finished IS NULL LOOP
		PERFORM fleet_store.unfinished_remove(me, begun, archive, capture);
	END LOOP;
	PERFORM fleet_store.filed_forget(me, archive, capture);
	RETURN answer;
END
$$;
RESET ROLE;
