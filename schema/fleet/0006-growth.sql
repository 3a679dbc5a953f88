-- The fleet's database, migration 6: what grew badly with hosts and months, and comments of columns. Forward only: a released migration
-- is never edited. tests/fleet/growth.py has the figures.
SET ROLE fleet_owner;

-- Lists of one guest, image, cause or kind read the newest of their rows alone, however rare they are. A partitioned index skips foreign
-- partitions, and a bucket that is made later gets it from its parent.
CREATE INDEX ON fleet_store.capture (guest, at) WHERE finished IS NOT NULL;
CREATE INDEX ON fleet_store.capture (image, at) WHERE finished IS NOT NULL;
CREATE INDEX ON fleet_store.capture (cause, at) WHERE finished IS NOT NULL;
CREATE INDEX ON fleet_store.capture (kind, at) WHERE finished IS NOT NULL;
-- The guests of all hosts, and the captures of one of them.
CREATE INDEX ON fleet_store.capture (host, guest, at) WHERE finished IS NOT NULL;

-- Whole packets, without their bodies: all pieces are there. Each server finds those of its own buckets.
CREATE VIEW fleet_store.packet_whole AS
	SELECT host, month, archive, stream, sequence FROM fleet_store.packet_piece
	GROUP BY host, month, archive, stream, sequence HAVING count(*) = min(pieces);

-- Make the foreign table packet_whole_SHARD. Those of the buckets would fetch four rows at a time, as their rows have bodies, and count the
-- pieces of each packet in a query of its own.
CREATE FUNCTION fleet_store.packet_whole_make(shard text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF to_regclass(format('fleet_store.%I', 'packet_whole_' || shard)) IS NULL THEN
		PERFORM fleet_store.foreign_make('packet_whole_' || shard, 'packet_whole', shard, 10000);
	END IF;
END
$$;
SELECT fleet_store.packet_whole_make(shard) FROM (SELECT DISTINCT shard FROM fleet_store.bucket WHERE shard IS NOT NULL) b;

-- Trigger after a bucket is served from a shard.
CREATE FUNCTION fleet_store.bucket_attached() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
BEGIN
	PERFORM fleet_store.packet_whole_make(NEW.shard);
	RETURN NULL;
END
$$;
CREATE TRIGGER bucket_attached AFTER INSERT ON fleet_store.bucket FOR EACH ROW WHEN (NEW.shard IS NOT NULL)
	EXECUTE FUNCTION fleet_store.bucket_attached();

-- The keys behind the last one are three ranges, each in the order of the primary key: an alternative of conditions would read the month
-- from its first packet for each page.
CREATE OR REPLACE FUNCTION fleet.inventory_packets(month date, after_archive uuid, after_stream integer, after_sequence bigint, max_rows integer)
	RETURNS TABLE (archive uuid, stream integer, first_sequence bigint, last_sequence bigint)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
DECLARE
	shard text;
	source text;
	pages text;
BEGIN
	PERFORM fleet_store.sender();
	IF max_rows IS NULL OR max_rows NOT BETWEEN 1 AND 10000 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'max_rows is not from 1 to 10000';
	END IF;
	SELECT b.shard INTO shard FROM fleet_store.bucket b WHERE b.bucket = fleet_store.bucket_of(session_user);
	source := format('SELECT archive, stream, sequence FROM fleet_store.%I WHERE host = $1 AND month = $2', concat_ws('_', 'packet_whole', shard));
	IF after_archive IS NULL THEN
		pages := source;
	ELSE
		pages := (SELECT string_agg(format('(%s AND %s ORDER BY 1, 2, 3 LIMIT $6)', source, c), ' UNION ALL ') FROM unnest(ARRAY[
			'archive = $3 AND stream = $4 AND sequence > $5', 'archive = $3 AND stream > $4', 'archive > $3']) c);
	END IF;
	RETURN QUERY EXECUTE format('SELECT archive, stream, min(sequence), max(sequence) FROM (
			SELECT archive, stream, sequence, sequence - row_number() OVER (PARTITION BY archive, stream ORDER BY sequence) AS range
			FROM (%s ORDER BY 1, 2, 3 LIMIT $6) p) r
		GROUP BY archive, stream, range ORDER BY 1, 2, 3', pages)
		USING session_user::text, month, after_archive, after_stream, after_sequence, max_rows;
END
$$;

-- Comment the columns of the views that show rows as they are stored.
DO $$
DECLARE
	c record;
	texts CONSTANT jsonb := '{
		"captures.host": "name of the host",
		"captures.month": "first day of the month of its time, UTC",
		"captures.archive": "UUID of the archive of the host",
		"captures.capture": "number of the capture in that archive",
		"captures.kind": "why it was taken: crash, watchdog, …",
		"captures.at": "time at which it was taken, by the clock of the host",
		"captures.week": "Monday of that week, UTC",
		"captures.guest": "name of the guest",
		"captures.image": "image of the guest; NULL: not known",
		"captures.reason": "why the guest ended; NULL: not known",
		"captures.lost_packets": "packets that are missing in it",
		"captures.pieces": "number of its pieces",
		"captures.bytes": "bytes of its pieces",
		"captures.finished": "time at which it was complete here",
		"captures.pinned": "true: retention keeps it",
		"captures.note": "note of a person",
		"captures.cause": "name of the cause; NULL: not known",
		"captures.sentence": "the cause in words; NULL: not known",
		"captures.last_ran": "thread that ran last; NULL: not known",
		"captures.annotated": "time at which its cause was looked for; NULL: not yet",
		"captures.failure": "why its cause could not be found; NULL: no failure",
		"captures.head": "what the host says of it",
		"pieces.host": "name of the host",
		"pieces.month": "month of the capture",
		"pieces.archive": "UUID of the archive of the host",
		"pieces.capture": "number of the capture",
		"pieces.part": "trace, tail, context or memory",
		"pieces.stream": "stream of the archive, or number of the recording",
		"pieces.number": "position among the pieces of part and stream, from 0",
		"pieces.sequence": "sequence of the packet",
		"pieces.offset": "position of the first byte in the packet or document",
		"pieces.length": "bytes without compression",
		"pieces.flags": "flags of the archive",
		"pieces.first_timestamp": "timestamp of the first event",
		"pieces.packet_bytes": "bytes of the packet",
		"pieces.codec": "0: raw; 1: one zstd frame",
		"pieces.sum": "SHA-256 of data",
		"pieces.ends": "ends of the chunks",
		"pieces.data": "bytes as stored",
		"packets.host": "name of the host",
		"packets.month": "month of the packet",
		"packets.archive": "UUID of the archive of the host",
		"packets.stream": "stream of the archive",
		"packets.number": "position among the pieces of the packet, from 0",
		"packets.sequence": "sequence of the packet in its stream",
		"packets.offset": "position of the first byte in the packet or document",
		"packets.length": "bytes without compression",
		"packets.flags": "flags of the archive",
		"packets.first_timestamp": "timestamp of the first event",
		"packets.packet_bytes": "bytes of the packet",
		"packets.codec": "0: raw; 1: one zstd frame",
		"packets.sum": "SHA-256 of data",
		"packets.ends": "ends of the chunks",
		"packets.data": "bytes as stored",
		"packets.run": "run of the packet in the archive",
		"packets.pieces": "number of pieces of the packet",
		"runs.host": "name of the host",
		"runs.month": "month of its packets",
		"runs.archive": "UUID of the archive of the host",
		"runs.run": "number of the run in that archive",
		"runs.guest": "name of the guest",
		"runs.head": "what the host says of it",
		"losses.host": "name of the host",
		"losses.month": "month of what was deleted",
		"losses.archive": "UUID of the archive of the host",
		"losses.kind": "capture or packets",
		"losses.capture": "number of the capture; 0: packets",
		"losses.stream": "stream of the packets; 0: a capture",
		"losses.first_sequence": "sequence of the first packet; 0: a capture",
		"losses.last_sequence": "sequence of the last packet; 0: a capture",
		"losses.bytes": "bytes on the host",
		"losses.reason": "quota, damaged, deleted or refused",
		"losses.declared": "time at which the host said so"}';
BEGIN
	FOR c IN SELECT split_part(key, '.', 1) AS view, split_part(key, '.', 2) AS "column", value FROM jsonb_each_text(texts) LOOP
		EXECUTE format('COMMENT ON COLUMN fleet.%I.%I IS %L', c.view, c."column", c.value);
	END LOOP;
END
$$;
RESET ROLE;
