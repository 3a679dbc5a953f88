-- The fleet's database, migration 2: the functions for sending hosts (README.md). Forward only: a released migration is never edited.
--
-- Each is SECURITY DEFINER with a fixed search_path, and takes the host from session_user. A host may set most parameters of its session,
-- so nothing here depends on them: not on the time zone, nor on the format of dates, nor on the isolation level.
--
-- Each checks the sender before it reads anything of a shard. postgres_fdw reads a shard in one snapshot for the whole transaction, so a
-- transaction that read before it had the lock would not see what another session of the host took meanwhile.
SET ROLE fleet_owner;

-- Take the lock of the host, unless this transaction has it. Transactions of one host wait for each other here.
CREATE FUNCTION fleet_store.sender_lock() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	-- The host can read and set the parameter, and cannot know the mark of another transaction: no host sees this epoch.
	-- Transactions in one message begin at the same time, so a transaction gets its mark in a later message than its first.
	mark text := (SELECT md5(concat_ws(' ', s.epoch, pg_backend_pid(), extract(epoch FROM now()))) FROM fleet_store.server s);
BEGIN
	IF current_setting('fleet.locked', true) = mark THEN
		RETURN;
	ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008',
			MESSAGE = format('the transaction is %s and must be READ COMMITTED', upper(current_setting('transaction_isolation')));
	END IF;
	-- PostgreSQL refuses this inside of a savepoint or of an exception block, and nothing else is wanted of it. Rolling back to a
	-- savepoint would release the lock and keep the snapshot of the shard.
	PERFORM pg_export_snapshot();
	PERFORM pg_advisory_xact_lock(1836085861, hashtext(session_user));
	IF statement_timestamp() > now() THEN
		PERFORM set_config('fleet.locked', mark, true);
	END IF;
END
$$;

-- Check that the sender is registered and not revoked. Return its row.
CREATE FUNCTION fleet_store.sender() RETURNS fleet_store.host LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	h fleet_store.host;
BEGIN
	PERFORM fleet_store.sender_lock();
	SELECT * INTO h FROM fleet_store.host k WHERE k.host = session_user;
	IF NOT FOUND THEN
		RAISE EXCEPTION USING ERRCODE = 'MP002', MESSAGE = format('host "%s" is not registered with this hub', session_user);
	ELSIF h.revoked THEN
		RAISE EXCEPTION USING ERRCODE = 'MP002', MESSAGE = format('host "%s" is revoked', session_user);
	END IF;
	RETURN h;
END
$$;

-- Check the sender and its archive. Return its quota in bytes.
CREATE FUNCTION fleet_store.sender(archive uuid) RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	h fleet_store.host := fleet_store.sender();
BEGIN
	IF archive IS NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'archive is NULL';
	ELSIF h.archive IS NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'MP009', MESSAGE = format('host "%s" has not called fleet.hello()', session_user);
	ELSIF h.archive <> archive THEN
		RAISE EXCEPTION USING ERRCODE = 'MP003',
			MESSAGE = format('host "%s" is registered with archive %s, and a sender of the same name has archive %s', session_user, h.archive, archive),
			HINT = format('If the second one is right, an administrator runs: SELECT fleet.accept_archive(''%s'', ''%s'')', session_user, archive);
	END IF;
	RETURN h.quota_bytes;
END
$$;

-- Check that MONTH is a month that the hub takes.
CREATE FUNCTION fleet_store.month_check(month date) RETURNS void LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	since date;
BEGIN
	IF month IS NULL OR NOT isfinite(month) OR extract(day FROM month) <> 1 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'month is not the first day of a month';
	END IF;
	SELECT s.keeps_since INTO since FROM fleet_store.server s;
	IF month < since THEN
		RAISE EXCEPTION USING ERRCODE = 'MP005',
			MESSAGE = format('the hub keeps months since %s, and the object is of %s', to_char(since, 'YYYY-MM'), to_char(month, 'YYYY-MM'));
	ELSIF month > (now() AT TIME ZONE 'UTC' + interval '1 day')::date THEN
		RAISE EXCEPTION USING ERRCODE = 'MP010',
			MESSAGE = format('the object is of %s, which has not begun: the clock of the host or of the hub is wrong', to_char(month, 'YYYY-MM'));
	END IF;
END
$$;

-- Return the text of a member of HEAD, or NULL if there is none. Refuse an empty one, and one of more than MOST bytes.
CREATE FUNCTION fleet_store.head_text(head jsonb, member text, most integer) RETURNS text LANGUAGE plpgsql IMMUTABLE
	SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF coalesce(jsonb_typeof(head -> member), 'null') = 'null' THEN
		RETURN NULL;
	ELSIF jsonb_typeof(head -> member) <> 'string' OR octet_length(head ->> member) NOT BETWEEN 1 AND most THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = format('head: %s is no string of 1 to %s bytes', member, most);
	END IF;
	RETURN head ->> member;
END
$$;

-- Return a member of HEAD that is a number from 0 to 2^63 - 1, as a number or a string, or NULL if there is none.
CREATE FUNCTION fleet_store.head_number(head jsonb, member text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE
	SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF coalesce(jsonb_typeof(head -> member), 'null') = 'null' THEN
		RETURN NULL;
	ELSIF head ->> member !~ '^[0-9]{1,19}$' OR (head ->> member)::numeric > 9223372036854775807 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = format('head: %s is no number from 0 to 9223372036854775807', member);
	END IF;
	RETURN (head ->> member)::bigint;
END
$$;

-- Check that HEAD is an object of a fair size.
CREATE FUNCTION fleet_store.head_check(head jsonb) RETURNS void LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF head IS NULL OR jsonb_typeof(head) <> 'object' OR octet_length(head::text) > 65536 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'head is no object of at most 65536 bytes';
	ELSIF fleet_store.head_text(head, 'guest', 255) IS NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'head: guest is missing';
	END IF;
END
$$;

-- Check the columns of a piece.
CREATE FUNCTION fleet_store.piece_check(start integer, length integer, flags integer, packet_bytes integer, codec integer, ends bytea,
	data bytea, sum bytea) RETURNS void LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF num_nulls(start, length, flags, packet_bytes, codec, ends, data, sum) > 0 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'an argument is NULL';
	ELSIF octet_length(data) > 1048576 OR octet_length(ends) > 262144 OR octet_length(sum) <> 32 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008',
			MESSAGE = 'data has more than 1048576 bytes, or ends more than 262144, or sum not 32';
	ELSIF start < 0 OR length NOT BETWEEN 0 AND 1048576 OR flags < 0 OR packet_bytes < 0 OR codec NOT BETWEEN 0 AND 1 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'offset, length, flags, packet_bytes or codec is out of its range';
	ELSIF sha256(data) <> sum THEN
		RAISE EXCEPTION USING ERRCODE = 'MP007', MESSAGE = 'data does not have the checksum sum';
	END IF;
END
$$;

-- Return the bytes that pieces take of the quota: 200 for each row beside its bytes, so that empty rows are no way around the quota.
CREATE FUNCTION fleet_store.room(bytes bigint, pieces integer, head jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE
	SET search_path = pg_catalog, pg_temp AS $$
	SELECT bytes + 200 * pieces::bigint + coalesce(octet_length(head::text), 0)
$$;

-- Find room for MORE bytes of MONTH in the host's quota and take it. fleet_store.sender() was called: the usage that is read here cannot
-- change.
CREATE FUNCTION fleet_store.room_take(month date, more bigint, packet_pieces integer, quota bigint, make boolean) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
	used bigint;
	months bigint;
BEGIN
	SELECT coalesce(sum(u.bytes), 0), count(*) FILTER (WHERE u.month = month) INTO used, months FROM fleet_store.usage u WHERE u.host = me;
	IF quota > 0 AND used + more > quota THEN
		RAISE EXCEPTION USING ERRCODE = 'MP004',
			MESSAGE = format('the quota of host "%s" is full: %s of %s bytes are used, and the object needs %s', me, used, quota, more);
	ELSIF months = 0 AND make THEN
		INSERT INTO fleet_store.usage (host, month, bytes, packet_pieces) VALUES (me, month, more, packet_pieces);
	ELSIF months = 0 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP009', MESSAGE = 'fleet.put_run() was not called for this month';
	ELSE
		UPDATE fleet_store.usage u SET bytes = u.bytes + more, packet_pieces = u.packet_pieces + room_take.packet_pieces
			WHERE u.host = me AND u.month = month;
	END IF;
END
$$;

-- Remove a capture that is not finished, and give its room back. Return false if there is none.
CREATE FUNCTION fleet_store.unfinished_remove(host text, month date, archive uuid, capture bigint) RETURNS boolean
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	freed bigint;
BEGIN
	DELETE FROM fleet_store.capture k WHERE k.host = host AND k.month = month AND k.archive = archive AND k.capture = capture
		AND k.finished IS NULL RETURNING k.room INTO freed;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	DELETE FROM fleet_store.capture_piece p WHERE p.host = host AND p.month = month AND p.archive = archive AND p.capture = capture;
	UPDATE fleet_store.usage u SET bytes = u.bytes - freed WHERE u.host = host AND u.month = month;
	RETURN true;
END
$$;

CREATE FUNCTION fleet.hello(schema_version integer, archive uuid, clock jsonb DEFAULT NULL)
	RETURNS TABLE (epoch uuid, version integer, keeps_since date, quota_bytes bigint, used_bytes bigint)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
	at text;
	other uuid;
BEGIN
	version := 1;
	IF schema_version IS DISTINCT FROM version THEN
		RAISE EXCEPTION USING ERRCODE = 'MP001',
			MESSAGE = format('the hub speaks version %s of the fleet''s contract and the host speaks %s: upgrade the %s', version,
			 coalesce(schema_version::text, 'none'), CASE WHEN schema_version > version THEN 'hub' ELSE 'host' END);
	ELSIF octet_length(clock::text) > 4096 OR jsonb_typeof(clock) <> 'object' THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'clock is no object of at most 4096 bytes';
	END IF;
	PERFORM fleet_store.sender();
	UPDATE fleet_store.host h SET archive = hello.archive WHERE h.host = me AND h.archive IS NULL AND NOT h.revoked;
	quota_bytes := fleet_store.sender(archive);
	UPDATE fleet_store.host h SET last_hello = now(), clock = hello.clock WHERE h.host = me;
	SELECT s.keeps_since INTO keeps_since FROM fleet_store.server s;
	epoch := fleet_store.epoch_now();
	SELECT b.shard INTO at FROM fleet_store.host h JOIN fleet_store.bucket b USING (bucket) WHERE h.host = me;
	IF NOT FOUND THEN
		RAISE EXCEPTION USING ERRCODE = '57P03', MESSAGE = format('no server keeps the bucket of host "%s" now', me);
	ELSIF at IS NOT NULL THEN
		EXECUTE format('SELECT s.epoch FROM fleet_store.%I s', 'state_' || at) INTO other;
		epoch := md5(concat_ws(' ', epoch, other))::uuid;
	END IF;
	SELECT coalesce(sum(u.bytes), 0) INTO used_bytes FROM fleet_store.usage u WHERE u.host = me;
	RETURN NEXT;
END
$$;

CREATE FUNCTION fleet.begin_capture(archive uuid, month date, capture bigint, pieces integer, bytes bigint, head jsonb) RETURNS text
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
	quota bigint := fleet_store.sender(archive);
	room bigint := fleet_store.room(bytes, pieces, head);
	at timestamptz;
	c record;
BEGIN
	PERFORM fleet_store.month_check(month);
	IF num_nulls(capture, pieces, bytes) > 0 OR capture < 0 OR pieces NOT BETWEEN 1 AND 1000000
		OR bytes NOT BETWEEN 0 AND pieces * 1310720::bigint THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'capture, pieces or bytes is out of its range';
	END IF;
	PERFORM fleet_store.head_check(head);
	at := timestamptz '1970-01-01 00:00:00+00' + fleet_store.head_number(head, 'real') / 1000 * interval '1 microsecond';
	IF head ->> 'kind' IS NULL OR head ->> 'kind' NOT IN ('crash', 'watchdog', 'poweroff', 'reboot', 'suspend', 'destroyed', 'ended',
		'periodic', 'manual', 'trigger') THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'head: kind is none of the kinds of a capture';
	ELSIF at IS NULL OR date_trunc('month', at AT TIME ZONE 'UTC')::date <> month THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'head: real does not lie in the month';
	END IF;
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

CREATE FUNCTION fleet.put_capture_piece(archive uuid, month date, capture bigint, part text, stream integer, number integer, sequence bigint,
	"offset" integer, length integer, flags integer, first_timestamp bigint, packet_bytes integer, codec integer, ends bytea, data bytea, sum bytea)
	RETURNS text
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
	size integer := octet_length(data) + octet_length(ends);
	counted bigint;
	stored bigint := 0;
	c record;
	p record;
BEGIN
	PERFORM fleet_store.sender(archive);
	IF num_nulls(month, capture, part, stream, number, sequence, first_timestamp) > 0
		OR part NOT IN ('trace', 'tail', 'context', 'memory') OR stream < 0 OR number < 0 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'part, stream or number is out of its range, or an argument is NULL';
	END IF;
	PERFORM fleet_store.piece_check("offset", length, flags, packet_bytes, codec, ends, data, sum);
	-- The row is locked from here on, so that calls for one capture wait for each other.
	UPDATE fleet_store.capture k SET got_pieces = k.got_pieces + 1, got_bytes = k.got_bytes + size
		WHERE k.host = me AND k.month = month AND k.archive = archive AND k.capture = capture
			AND k.finished IS NULL AND k.got_pieces < k.pieces AND k.got_bytes + size <= k.bytes;
	GET DIAGNOSTICS counted = ROW_COUNT;
	IF counted = 1 THEN
		INSERT INTO fleet_store.capture_piece
			VALUES (me, month, archive, capture, part, stream, number, sequence, "offset", length, flags, first_timestamp, packet_bytes, codec,
				sum, ends, data)
			ON CONFLICT DO NOTHING;
		GET DIAGNOSTICS stored = ROW_COUNT;
		IF stored = 1 THEN
			RETURN 'new';
		END IF;
		UPDATE fleet_store.capture k SET got_pieces = k.got_pieces - 1, got_bytes = k.got_bytes - size
			WHERE k.host = me AND k.month = month AND k.archive = archive AND k.capture = capture;
	END IF;
	-- The piece is there, or the capture is not open, or has no room.
	SELECT q.sequence, q."offset", q.length, q.flags, q.first_timestamp, q.packet_bytes, q.codec, q.sum, q.ends INTO p FROM (
		SELECT * FROM fleet_store.capture_piece WHERE capture_piece.host = me AND capture_piece.month = month
		UNION ALL SELECT * FROM fleet_store.pinned_piece WHERE pinned_piece.host = me AND pinned_piece.month = month) q
		WHERE q.archive = archive AND q.capture = capture AND q.part = part AND q.stream = stream AND q.number = number;
	IF FOUND THEN
		IF (p.sequence, p."offset", p.length, p.flags, p.first_timestamp, p.packet_bytes, p.codec, p.sum, p.ends)
			IS DISTINCT FROM (sequence, "offset", length, flags, first_timestamp, packet_bytes, codec, sum, ends) THEN
			RAISE EXCEPTION USING ERRCODE = 'MP006',
				MESSAGE = format('piece %s of %s %s of capture %s of host "%s" is there with other values', number, part, stream, capture, me);
		END IF;
		RETURN 'done';
	END IF;
	SELECT k.finished INTO c FROM fleet_store.capture k
		WHERE k.host = me AND k.month = month AND k.archive = archive AND k.capture = capture;
	IF NOT FOUND THEN
		RAISE EXCEPTION USING ERRCODE = 'MP009', MESSAGE = format('capture %s of host "%s" was not begun', capture, me);
	ELSIF c.finished IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'MP006', MESSAGE = format('capture %s of host "%s" is complete without this piece', capture, me);
	END IF;
	RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = format('capture %s of host "%s" has more pieces or bytes than announced', capture, me);
END
$$;

CREATE FUNCTION fleet.finish_capture(archive uuid, month date, capture bigint) RETURNS text
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
	counted bigint;
	c record;
BEGIN
	PERFORM fleet_store.sender(archive);
	UPDATE fleet_store.capture k SET finished = now()
		WHERE k.host = me AND k.month = month AND k.archive = archive AND k.capture = capture
			AND k.finished IS NULL AND k.got_pieces = k.pieces AND k.got_bytes = k.bytes;
	GET DIAGNOSTICS counted = ROW_COUNT;
	IF counted = 1 THEN
		-- A hint for programs beside the hub. Every session can send such notices, and fill the queue; a full queue would refuse
		-- this transaction.
		IF pg_notification_queue_usage() < 0.25 THEN
			PERFORM pg_notify('fleet', 'capture');
		END IF;
		RETURN 'new';
	END IF;
	SELECT k.finished, k.pieces, k.bytes, k.got_pieces, k.got_bytes INTO c FROM fleet_store.capture k
		WHERE k.host = me AND k.month = month AND k.archive = archive AND k.capture = capture;
	IF NOT FOUND THEN
		RAISE EXCEPTION USING ERRCODE = 'MP009', MESSAGE = format('capture %s of host "%s" was not begun', capture, me);
	ELSIF c.finished IS NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'MP009', MESSAGE = format('capture %s of host "%s" has %s of %s pieces and %s of %s bytes', capture, me,
			c.got_pieces, c.pieces, c.got_bytes, c.bytes);
	END IF;
	RETURN 'done';
END
$$;

CREATE FUNCTION fleet.capture_pieces(archive uuid, month date, capture bigint)
	RETURNS TABLE (part text, stream integer, number integer, sum bytea)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
BEGIN
	PERFORM fleet_store.sender(archive);
	RETURN QUERY SELECT q.part, q.stream, q.number, q.sum FROM (
		SELECT p.part, p.stream, p.number, p.sum FROM fleet_store.capture_piece p
			WHERE p.host = me AND p.month = month AND p.archive = archive AND p.capture = capture
		UNION ALL SELECT p.part, p.stream, p.number, p.sum FROM fleet_store.pinned_piece p
			WHERE p.host = me AND p.month = month AND p.archive = archive AND p.capture = capture) q ORDER BY 1, 2, 3;
END
$$;

CREATE FUNCTION fleet.put_run(archive uuid, month date, run bigint, head jsonb) RETURNS text
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
	quota bigint := fleet_store.sender(archive);
	r record;
BEGIN
	PERFORM fleet_store.month_check(month);
	PERFORM fleet_store.head_check(head);
	IF run IS NULL OR run < 0 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'run is out of its range';
	END IF;
	SELECT k.head INTO r FROM fleet_store.run k WHERE k.host = me AND k.month = month AND k.archive = archive AND k.run = run;
	IF NOT FOUND THEN
		PERFORM fleet_store.room_take(month, fleet_store.room(0, 1, head), 0, quota, true);
		INSERT INTO fleet_store.run VALUES (me, month, archive, run, head ->> 'guest', head);
		RETURN 'new';
	ELSIF r.head = head THEN
		RETURN 'done';
	END IF;
	PERFORM fleet_store.room_take(month, greatest(0, octet_length(head::text) - octet_length(r.head::text)), 0, quota, true);
	UPDATE fleet_store.run k SET head = put_run.head, guest = put_run.head ->> 'guest'
		WHERE k.host = me AND k.month = month AND k.archive = archive AND k.run = run;
	RETURN 'changed';
END
$$;

CREATE FUNCTION fleet.put_packet_piece(archive uuid, month date, run bigint, stream integer, sequence bigint, number integer, pieces integer,
	"offset" integer, length integer, flags integer, first_timestamp bigint, packet_bytes integer, codec integer, ends bytea, data bytea, sum bytea)
	RETURNS text
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
	quota bigint := fleet_store.sender(archive);
	stored bigint;
	p record;
BEGIN
	PERFORM fleet_store.month_check(month);
	IF num_nulls(run, stream, sequence, number, pieces, first_timestamp) > 0 OR stream < 0
		OR pieces NOT BETWEEN 1 AND 4096 OR number NOT BETWEEN 0 AND pieces - 1 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'stream, number or pieces is out of its range, or an argument is NULL';
	END IF;
	PERFORM fleet_store.piece_check("offset", length, flags, packet_bytes, codec, ends, data, sum);
	SELECT q.run, q.pieces, q."offset", q.length, q.flags, q.first_timestamp, q.packet_bytes, q.codec, q.sum, q.ends INTO p
		FROM fleet_store.packet_piece q
		WHERE q.host = me AND q.month = month AND q.archive = archive AND q.stream = stream AND q.sequence = sequence AND q.number = number;
	IF FOUND THEN
		IF (p.run, p.pieces, p."offset", p.length, p.flags, p.first_timestamp, p.packet_bytes, p.codec, p.sum, p.ends)
			IS DISTINCT FROM (run, pieces, "offset", length, flags, first_timestamp, packet_bytes, codec, sum, ends) THEN
			RAISE EXCEPTION USING ERRCODE = 'MP006',
				MESSAGE = format('piece %s of packet %s of stream %s of host "%s" is there with other values', number, sequence, stream, me);
		END IF;
		RETURN 'done';
	END IF;
	-- A concurrent call with the same key waits here, and then fails with a violation of the primary key: it is repeated.
	PERFORM fleet_store.room_take(month, fleet_store.room(octet_length(data) + octet_length(ends), 1, NULL), 1, quota, false);
	INSERT INTO fleet_store.packet_piece
		VALUES (me, month, archive, run, stream, sequence, number, pieces, "offset", length, flags, first_timestamp, packet_bytes, codec,
			sum, ends, data);
	RETURN 'new';
END
$$;

CREATE FUNCTION fleet.inventory(month date, after_archive uuid, after_capture bigint, max_rows integer)
	RETURNS TABLE (archive uuid, capture bigint, pieces integer, bytes bigint)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
BEGIN
	PERFORM fleet_store.sender();
	IF max_rows IS NULL OR max_rows NOT BETWEEN 1 AND 10000 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'max_rows is not from 1 to 10000';
	END IF;
	RETURN QUERY SELECT c.archive, c.capture, c.pieces, c.bytes FROM fleet_store.capture c
		WHERE c.host = me AND c.month = month AND c.finished IS NOT NULL
			AND (after_archive IS NULL OR c.archive > after_archive OR c.archive = after_archive AND c.capture > after_capture)
		ORDER BY 1, 2 LIMIT max_rows;
END
$$;

CREATE FUNCTION fleet.inventory_packets(month date, after_archive uuid, after_stream integer, after_sequence bigint, max_rows integer)
	RETURNS TABLE (archive uuid, stream integer, first_sequence bigint, last_sequence bigint)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
BEGIN
	PERFORM fleet_store.sender();
	IF max_rows IS NULL OR max_rows NOT BETWEEN 1 AND 10000 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'max_rows is not from 1 to 10000';
	END IF;
	RETURN QUERY SELECT r.archive, r.stream, min(r.sequence), max(r.sequence) FROM (
		SELECT p.archive, p.stream, p.sequence,
			p.sequence - row_number() OVER (PARTITION BY p.archive, p.stream ORDER BY p.sequence) AS range FROM (
			SELECT q.archive, q.stream, q.sequence FROM fleet_store.packet_piece q
			WHERE q.host = me AND q.month = month AND q.number = 0
				AND (after_archive IS NULL OR q.archive > after_archive OR q.archive = after_archive AND (q.stream > after_stream
					OR q.stream = after_stream AND q.sequence > after_sequence))
				AND (q.pieces = 1 OR q.pieces = (SELECT count(*) FROM fleet_store.packet_piece o WHERE o.host = me AND o.month = month
					AND o.archive = q.archive AND o.stream = q.stream AND o.sequence = q.sequence))
			ORDER BY 1, 2, 3 LIMIT max_rows) p) r
		GROUP BY r.archive, r.stream, r.range ORDER BY 1, 2, 3;
END
$$;

CREATE FUNCTION fleet.inventory_months() RETURNS TABLE (month date, captures bigint, packet_pieces bigint, bytes bigint)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
BEGIN
	PERFORM fleet_store.sender();
	RETURN QUERY SELECT u.month, coalesce(c.captures, 0), u.packet_pieces, u.bytes FROM fleet_store.usage u
		LEFT JOIN (SELECT k.month, count(*) AS captures FROM fleet_store.capture k WHERE k.host = me AND k.finished IS NOT NULL
			GROUP BY k.month) c ON c.month = u.month
		WHERE u.host = me ORDER BY 1;
END
$$;

CREATE FUNCTION fleet.declare_lost(archive uuid, month date, kind text, capture bigint, stream integer, first_sequence bigint,
	last_sequence bigint, bytes bigint, reason text) RETURNS text
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
	losses bigint;
	l record;
BEGIN
	PERFORM fleet_store.sender(archive);
	PERFORM fleet_store.month_check(month);
	IF num_nulls(kind, capture, stream, first_sequence, last_sequence, bytes, reason) > 0
		OR kind NOT IN ('capture', 'packets') OR stream < 0 OR bytes < 0 OR last_sequence < first_sequence
		OR reason NOT IN ('quota', 'damaged', 'deleted', 'refused') THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'an argument is NULL or out of its range';
	END IF;
	SELECT k.last_sequence, k.bytes, k.reason INTO l FROM fleet_store.lost k WHERE k.host = me AND k.month = month AND k.archive = archive
		AND k.kind = kind AND k.capture = capture AND k.stream = stream AND k.first_sequence = first_sequence;
	IF FOUND THEN
		IF (l.last_sequence, l.bytes, l.reason) IS NOT DISTINCT FROM (last_sequence, bytes, reason) THEN
			RETURN 'done';
		ELSIF kind <> 'packets' OR l.reason <> reason OR l.last_sequence > last_sequence OR l.bytes > bytes THEN
			RAISE EXCEPTION USING ERRCODE = 'MP006', MESSAGE = 'this loss is declared with other values';
		END IF;
		-- It grew on the host before the host knew that it was declared.
		UPDATE fleet_store.lost k SET last_sequence = declare_lost.last_sequence, bytes = declare_lost.bytes, declared = now()
			WHERE k.host = me AND k.month = month AND k.archive = archive AND k.kind = kind AND k.capture = capture AND k.stream = stream
				AND k.first_sequence = first_sequence;
		RETURN 'done';
	END IF;
	IF kind = 'capture' THEN
		PERFORM fleet_store.unfinished_remove(me, month, archive, capture);
	END IF;
	PERFORM fleet_store.room_take(month, 0, 0, 0, true);
	SELECT sum(u.losses) INTO losses FROM fleet_store.usage u WHERE u.host = me;
	IF losses >= 100000 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP004', MESSAGE = format('host "%s" declared 100000 losses, and no more are taken', me);
	END IF;
	UPDATE fleet_store.usage u SET losses = u.losses + 1 WHERE u.host = me AND u.month = month;
	INSERT INTO fleet_store.lost VALUES (me, month, archive, kind, capture, stream, first_sequence, last_sequence, bytes, reason, now());
	RETURN 'new';
END
$$;

GRANT EXECUTE ON FUNCTION fleet.hello, fleet.begin_capture, fleet.put_capture_piece, fleet.finish_capture, fleet.capture_pieces, fleet.put_run,
	fleet.put_packet_piece, fleet.inventory, fleet.inventory_packets, fleet.inventory_months, fleet.declare_lost TO fleet_host;
RESET ROLE;

-- Rights that everybody has in a new database, and that a captured host could misuse: large objects, advisory locks.
-- NOTIFY and LISTEN are commands without a right, so notices are hints.
DO $$
DECLARE
	f regprocedure;
BEGIN
	FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace
		AND (p.proname ~ '^(lo_|lowrite$|loread$|pg_(try_)?advisory_)' OR p.proname = 'pg_notify')
	LOOP
		EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
		EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO fleet_owner', f);
	END LOOP;
END
$$;
