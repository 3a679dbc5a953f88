-- The fleet's database, migration 5: views for readers. Forward only: a released migration is never edited.
--
-- A crash is a finished capture of kind crash or watchdog. Each server groups the captures of its own buckets in the views
-- fleet_store.part_*, and the hub puts the parts together: a host is on one server, so numbers of hosts add up. Inside of a
-- part, the inner queries group by host, too, because a bucket can do that by itself.
SET ROLE fleet_owner;

-- fleet_store.views_renew() renews these two.
CREATE VIEW fleet_store.own_capture AS SELECT * FROM fleet_store.capture;
CREATE VIEW fleet_store.own_lost AS SELECT * FROM fleet_store.lost;

CREATE VIEW fleet_store.part_image AS
	SELECT image, sum(crashes)::bigint AS crashes, count(*) AS hosts, min(first) AS first, max(last) AS last
	FROM (SELECT host, image, count(*) AS crashes, min(at) AS first, max(at) AS last FROM fleet_store.own_capture
		WHERE finished IS NOT NULL AND kind IN ('crash', 'watchdog') GROUP BY host, image) h
	GROUP BY image;

CREATE VIEW fleet_store.part_cause AS
	SELECT cause, min(sentence) AS sentence, sum(crashes)::bigint AS crashes, count(*) AS hosts, min(first) AS first, max(last) AS last
	FROM (SELECT host, cause, min(sentence) AS sentence, count(*) AS crashes, min(at) AS first, max(at) AS last
		FROM fleet_store.own_capture WHERE finished IS NOT NULL AND kind IN ('crash', 'watchdog') AND cause IS NOT NULL
		GROUP BY host, cause) h
	GROUP BY cause;

CREATE VIEW fleet_store.part_cause_image AS
	SELECT DISTINCT cause, image FROM fleet_store.own_capture
	WHERE finished IS NOT NULL AND kind IN ('crash', 'watchdog') AND cause IS NOT NULL AND image IS NOT NULL;

CREATE VIEW fleet_store.part_cause_week AS
	SELECT DISTINCT cause, week FROM fleet_store.own_capture
	WHERE finished IS NOT NULL AND kind IN ('crash', 'watchdog') AND cause IS NOT NULL;

CREATE VIEW fleet_store.part_host_week AS
	SELECT host, week, count(*) AS crashes, count(DISTINCT guest) AS guests FROM fleet_store.own_capture
	WHERE finished IS NOT NULL AND kind IN ('crash', 'watchdog') GROUP BY host, week;

CREATE VIEW fleet_store.part_host AS
	SELECT host, c.captures, c.lost_packets, c.last_capture, c.last_crash, c.last_arrival, l.unsent_captures, l.unsent_ranges,
		l.unsent_bytes, l.last_loss
	FROM (SELECT host, count(*) AS captures, sum(lost_packets)::bigint AS lost_packets, max(at) AS last_capture,
			max(at) FILTER (WHERE kind IN ('crash', 'watchdog')) AS last_crash, max(finished) AS last_arrival
		FROM fleet_store.own_capture WHERE finished IS NOT NULL GROUP BY host) c
	FULL JOIN (SELECT host, count(*) FILTER (WHERE kind = 'capture') AS unsent_captures, count(*) FILTER (WHERE kind = 'packets') AS unsent_ranges,
			sum(bytes)::bigint AS unsent_bytes, max(declared) AS last_loss
		FROM fleet_store.own_lost GROUP BY host) l USING (host);

-- fleet_store.views_renew() renews these.
CREATE VIEW fleet_store.all_capture AS SELECT * FROM fleet_store.own_capture;
CREATE VIEW fleet_store.all_part_image AS SELECT * FROM fleet_store.part_image;
CREATE VIEW fleet_store.all_part_cause AS SELECT * FROM fleet_store.part_cause;
CREATE VIEW fleet_store.all_part_cause_image AS SELECT * FROM fleet_store.part_cause_image;
CREATE VIEW fleet_store.all_part_cause_week AS SELECT * FROM fleet_store.part_cause_week;
CREATE VIEW fleet_store.all_part_host_week AS SELECT * FROM fleet_store.part_host_week;
CREATE VIEW fleet_store.all_part_host AS SELECT * FROM fleet_store.part_host;

CREATE VIEW fleet.captures AS
	SELECT host, month, archive, capture, kind, at, week, guest, image, reason, lost_packets, pieces, bytes, finished, pinned, note, cause,
		sentence, last_ran, annotated, failure, head
	FROM fleet_store.all_capture WHERE finished IS NOT NULL;
COMMENT ON VIEW fleet.captures IS 'Finished captures.';

CREATE VIEW fleet.pieces AS
	SELECT * FROM fleet_store.capture_piece UNION ALL SELECT * FROM fleet_store.pinned_piece;
COMMENT ON VIEW fleet.pieces IS 'Pieces of captures, also of those that are not finished. Name host and month.';

CREATE VIEW fleet.packets AS SELECT * FROM fleet_store.packet_piece;
COMMENT ON VIEW fleet.packets IS 'Pieces of packets. Name host and month.';

CREATE VIEW fleet.runs AS SELECT * FROM fleet_store.run;
COMMENT ON VIEW fleet.runs IS 'Runs of packets, by month.';

CREATE VIEW fleet.losses AS SELECT * FROM fleet_store.lost;
COMMENT ON VIEW fleet.losses IS 'What hosts declared as deleted before it was sent.';

CREATE VIEW fleet.hosts AS
	SELECT host, archive, quota_bytes, revoked, registered, last_hello, clock,
		(clock ->> 'offset_ns')::numeric AS clock_offset_ns, (clock ->> 'uncertainty_ns')::numeric AS clock_uncertainty_ns
	FROM fleet_store.host;
COMMENT ON VIEW fleet.hosts IS 'The registered hosts.';

CREATE VIEW fleet.crashes_by_image AS
	SELECT image, sum(crashes)::bigint AS crashes, sum(hosts)::bigint AS hosts, min(first) AS first, max(last) AS last
	FROM fleet_store.all_part_image GROUP BY image;
COMMENT ON VIEW fleet.crashes_by_image IS 'Which images crash how often.';

CREATE VIEW fleet.crashes_by_cause AS
	SELECT c.cause, c.sentence, c.crashes, c.hosts, coalesce(i.images, 0) AS images, c.first, c.last
	FROM (SELECT cause, min(sentence) AS sentence, sum(crashes)::bigint AS crashes, sum(hosts)::bigint AS hosts, min(first) AS first, max(last) AS last
		FROM fleet_store.all_part_cause GROUP BY cause) c
	LEFT JOIN (SELECT cause, count(DISTINCT image) AS images FROM fleet_store.all_part_cause_image GROUP BY cause) i ON i.cause = c.cause;
COMMENT ON VIEW fleet.crashes_by_cause IS 'Captures that end alike.';

CREATE VIEW fleet.crashes_by_host_week AS SELECT host, week, crashes, guests FROM fleet_store.all_part_host_week;
COMMENT ON VIEW fleet.crashes_by_host_week IS 'Crashes of each host in each week.';

CREATE VIEW fleet.causes_returned AS
	SELECT cause, previous AS quiet_since, week AS back_since, (week - previous) / 7 - 1 AS quiet_weeks
	FROM (SELECT cause, week, lag(week) OVER (PARTITION BY cause ORDER BY week) AS previous
		FROM (SELECT DISTINCT cause, week FROM fleet_store.all_part_cause_week) d) l
	WHERE week - previous > 28;
COMMENT ON VIEW fleet.causes_returned IS 'Causes that came back after at least four weeks without a crash of that cause anywhere.';

CREATE VIEW fleet.loss_by_host AS
	SELECT h.host, coalesce(p.captures, 0) AS captures, coalesce(p.lost_packets, 0) AS lost_packets,
		coalesce(p.unsent_captures, 0) AS unsent_captures, coalesce(p.unsent_ranges, 0) AS unsent_ranges, coalesce(p.unsent_bytes, 0) AS unsent_bytes
	FROM fleet_store.host h LEFT JOIN fleet_store.all_part_host p ON p.host = h.host;
COMMENT ON VIEW fleet.loss_by_host IS 'Losses of each host.';

CREATE VIEW fleet.newest AS
	SELECT h.host, h.last_hello, p.last_capture, p.last_crash, p.last_arrival, p.last_loss, h.revoked
	FROM fleet_store.host h LEFT JOIN fleet_store.all_part_host p ON p.host = h.host;
COMMENT ON VIEW fleet.newest IS 'The newest of everything, for each host.';

-- Comment the columns. A view that names a column of a table has the meaning of README.md.
DO $$
DECLARE
	c record;
	texts CONSTANT jsonb := '{
		"crashes_by_image.image": "image of the guest; NULL: not known",
		"crashes_by_image.crashes": "number of crashes",
		"crashes_by_image.hosts": "number of hosts on which it crashed",
		"crashes_by_image.first": "time of the first crash",
		"crashes_by_image.last": "time of the last crash",
		"crashes_by_cause.cause": "name of the cause",
		"crashes_by_cause.sentence": "the cause in words",
		"crashes_by_cause.crashes": "number of crashes",
		"crashes_by_cause.hosts": "number of hosts on which it occurred",
		"crashes_by_cause.images": "number of known images in which it occurred",
		"crashes_by_cause.first": "time of the first crash",
		"crashes_by_cause.last": "time of the last crash",
		"crashes_by_host_week.host": "name of the host",
		"crashes_by_host_week.week": "Monday of the week, UTC",
		"crashes_by_host_week.crashes": "number of crashes",
		"crashes_by_host_week.guests": "number of names of guests that crashed",
		"causes_returned.cause": "name of the cause",
		"causes_returned.quiet_since": "Monday of the last week with a crash before the quiet time, UTC",
		"causes_returned.back_since": "Monday of the first week with a crash after it, UTC",
		"causes_returned.quiet_weeks": "weeks without a crash between them, at least 4",
		"loss_by_host.host": "name of the host",
		"loss_by_host.captures": "number of its captures",
		"loss_by_host.lost_packets": "packets that are missing inside captures",
		"loss_by_host.unsent_captures": "captures that the host deleted before it sent them",
		"loss_by_host.unsent_ranges": "ranges of packets that the host deleted before it sent them",
		"loss_by_host.unsent_bytes": "bytes of both on the host",
		"newest.host": "name of the host",
		"newest.last_hello": "time of its last hello; NULL: none",
		"newest.last_capture": "time of its newest capture, by its own clock",
		"newest.last_crash": "time of its newest crash, by its own clock",
		"newest.last_arrival": "time at which its newest capture was complete here",
		"newest.last_loss": "time at which it declared its newest loss",
		"newest.revoked": "true: the host is refused",
		"hosts.host": "name of the host, its role and its certificate",
		"hosts.archive": "UUID of its archive; NULL: it never called",
		"hosts.quota_bytes": "bytes that it may keep here; 0: no limit",
		"hosts.revoked": "true: the host is refused",
		"hosts.registered": "time at which it was registered",
		"hosts.last_hello": "time of its last hello; NULL: none",
		"hosts.clock": "state of its NTP at the last hello; NULL: not known",
		"hosts.clock_offset_ns": "offset of its clock, nanoseconds; NULL: not known",
		"hosts.clock_uncertainty_ns": "uncertainty of the offset, nanoseconds; NULL: not known"}';
BEGIN
	FOR c IN SELECT split_part(key, '.', 1) AS view, split_part(key, '.', 2) AS "column", value FROM jsonb_each_text(texts) LOOP
		EXECUTE format('COMMENT ON COLUMN fleet.%I.%I IS %L', c.view, c."column", c.value);
	END LOOP;
END
$$;
GRANT SELECT ON ALL TABLES IN SCHEMA fleet TO fleet_read, fleet_annotator;
RESET ROLE;
