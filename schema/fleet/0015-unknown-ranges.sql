-- The fleet's database, migration 15: a loss inside of a capture of which nobody knows the packets has no numbers. They were 0, as if packet 0 were
-- lost. Forward only: a released migration is never edited.
SET ROLE fleet_owner;

CREATE OR REPLACE VIEW fleet.losses AS
	SELECT * FROM fleet_store.lost
	UNION ALL
	SELECT c.host, c.month, c.archive, 'range' COLLATE "C", c.capture, coalesce(d.stream, 0), d.first_sequence,
		CASE WHEN d.first_sequence IS NOT NULL THEN greatest(d.first_sequence, d.next_sequence - 1) END, 0::bigint, 'damaged' COLLATE "C", c.finished
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
COMMENT ON COLUMN fleet.losses.first_sequence IS 'sequence of the first packet that is missing, wholly or in part; NULL: not known, all that the capture had of the stream; 0 with the kind capture';
COMMENT ON COLUMN fleet.losses.last_sequence IS 'sequence of the last packet; NULL: not known; 0 with the kind capture';
RESET ROLE;
