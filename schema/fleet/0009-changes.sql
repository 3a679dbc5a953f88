-- The fleet's database, migration 9: changes of captures, for those who follow them. Forward only: a released migration is never edited.
--
-- A row of fleet_store.change is written in the transaction that finishes, pins, notes or annotates a capture, on the hub. A
-- reader knows a state of the database as its snapshot (pg_current_snapshot()): what is new since then are the rows whose
-- transaction that snapshot does not see. So nothing is missed however long a transaction takes, and nothing comes twice.
SET ROLE fleet_owner;

CREATE TABLE fleet_store.change (
	id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	xid     xid8 NOT NULL DEFAULT pg_current_xact_id(),
	what    text COLLATE "C" NOT NULL CHECK (what IN ('made', 'changed', 'dropped')), -- dropped: months, by retention
	host    text COLLATE "C",               -- with the next three the key of the capture; NULL if months were dropped
	month   date,
	archive uuid,
	capture bigint
);
CREATE INDEX ON fleet_store.change (xid);

-- Note a change. Older rows than the newest 10,000 are removed: who follows less closely reads everything again.
CREATE FUNCTION fleet_store.change_add(what text, host text, month date, archive uuid, capture bigint) RETURNS void LANGUAGE plpgsql
	SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
	added bigint;
BEGIN
	INSERT INTO fleet_store.change (what, host, month, archive, capture) VALUES (what, host, month, archive, capture)
		RETURNING id INTO added;
	DELETE FROM fleet_store.change c WHERE c.id IN (
		SELECT o.id FROM fleet_store.change o WHERE o.id <= added - 10000 ORDER BY o.id LIMIT 4 FOR UPDATE SKIP LOCKED);
	-- As in finish_capture(): a full queue would refuse this transaction.
	IF pg_notification_queue_usage() < 0.25 THEN
		PERFORM pg_notify('fleet', 'capture');
	END IF;
END
$$;

-- The functions that change a capture stay as they are, in the schema that nobody else enters; those that callers know note the
-- change as well.
ALTER FUNCTION fleet.finish_capture(uuid, date, bigint) SET SCHEMA fleet_store;
ALTER FUNCTION fleet.pin(text, date, uuid, bigint, boolean) SET SCHEMA fleet_store;
ALTER FUNCTION fleet.set_note(text, date, uuid, bigint, text) SET SCHEMA fleet_store;
ALTER FUNCTION fleet.annotate(text, date, uuid, bigint, text, text, text, text) SET SCHEMA fleet_store;
ALTER FUNCTION fleet.drop_months(integer) SET SCHEMA fleet_store;
REVOKE ALL ON FUNCTION fleet_store.finish_capture FROM fleet_host;
REVOKE ALL ON FUNCTION fleet_store.pin FROM fleet_pin;
REVOKE ALL ON FUNCTION fleet_store.set_note FROM fleet_note;
REVOKE ALL ON FUNCTION fleet_store.annotate FROM fleet_annotator;
REVOKE ALL ON FUNCTION fleet_store.drop_months FROM fleet_retention;

CREATE FUNCTION fleet.finish_capture(archive uuid, month date, capture bigint) RETURNS text
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
DECLARE
	answer text := fleet_store.finish_capture(archive, month, capture);
BEGIN
	IF answer = 'new' THEN
		PERFORM fleet_store.change_add('made', session_user, month, archive, capture);
	END IF;
	RETURN answer;
END
$$;

CREATE FUNCTION fleet.pin(host text, month date, archive uuid, capture bigint, pinned boolean) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
BEGIN
	PERFORM fleet_store.pin(host, month, archive, capture, pinned);
	PERFORM fleet_store.change_add('changed', host, month, archive, capture);
END
$$;

CREATE FUNCTION fleet.set_note(host text, month date, archive uuid, capture bigint, note text) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
BEGIN
	PERFORM fleet_store.set_note(host, month, archive, capture, note);
	PERFORM fleet_store.change_add('changed', host, month, archive, capture);
END
$$;

CREATE FUNCTION fleet.annotate(host text, month date, archive uuid, capture bigint, cause text, sentence text, last_ran text, failure text)
	RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
BEGIN
	PERFORM fleet_store.annotate(host, month, archive, capture, cause, sentence, last_ran, failure);
	PERFORM fleet_store.change_add('changed', host, month, archive, capture);
END
$$;

CREATE FUNCTION fleet.drop_months(bucket integer) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
BEGIN
	PERFORM fleet_store.drop_months(bucket);
	PERFORM fleet_store.change_add('dropped', NULL, NULL, NULL, NULL);
END
$$;

-- The state of the hub that a restore or a promotion changes: states of another one say nothing.
CREATE FUNCTION fleet.epoch() RETURNS uuid
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
	SELECT fleet_store.epoch_now()
$$;

CREATE VIEW fleet.changes AS SELECT id, xid, what, host, month, archive, capture FROM fleet_store.change;
COMMENT ON VIEW fleet.changes IS 'Changes of captures: the newest 10,000.';
COMMENT ON COLUMN fleet.changes.id IS 'number, ascending in the order of writing, not of commits';
COMMENT ON COLUMN fleet.changes.xid IS 'transaction that wrote it';
COMMENT ON COLUMN fleet.changes.what IS 'made, changed or dropped';
COMMENT ON COLUMN fleet.changes.host IS 'name of the host; NULL: all, as months were dropped';
COMMENT ON COLUMN fleet.changes.month IS 'month of the capture; NULL as host';
COMMENT ON COLUMN fleet.changes.archive IS 'archive of the capture; NULL as host';
COMMENT ON COLUMN fleet.changes.capture IS 'number of the capture on its host; NULL as host';

GRANT EXECUTE ON FUNCTION fleet.finish_capture TO fleet_host;
GRANT EXECUTE ON FUNCTION fleet.pin TO fleet_pin;
GRANT EXECUTE ON FUNCTION fleet.set_note TO fleet_note;
GRANT EXECUTE ON FUNCTION fleet.annotate TO fleet_annotator;
GRANT EXECUTE ON FUNCTION fleet.drop_months TO fleet_retention;
GRANT EXECUTE ON FUNCTION fleet.epoch TO fleet_read, fleet_annotator;
GRANT SELECT ON fleet.changes TO fleet_read, fleet_annotator;
RESET ROLE;
