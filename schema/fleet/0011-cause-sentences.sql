-- The fleet's database, migration 11: the sentence of a cause is that of all its captures. Forward only: a released migration is never
-- edited.
SET ROLE fleet_owner;

-- The sentence of a capture names the ids, times and addresses of that capture. Beside a cause, each of these is `#`.
CREATE OR REPLACE VIEW fleet.crashes_by_cause AS
	SELECT c.cause, regexp_replace(c.sentence, '0x[0-9a-fA-F]+|[0-9]+([.,][0-9]+)*', '#', 'g') AS sentence, c.crashes, c.hosts,
		coalesce(i.images, 0) AS images, c.first, c.last
	FROM (SELECT cause, min(sentence) AS sentence, sum(crashes)::bigint AS crashes, sum(hosts)::bigint AS hosts, min(first) AS first, max(last) AS last
		FROM fleet_store.all_part_cause GROUP BY cause) c
	LEFT JOIN (SELECT cause, count(DISTINCT image) AS images FROM fleet_store.all_part_cause_image GROUP BY cause) i ON i.cause = c.cause;
COMMENT ON COLUMN fleet.crashes_by_cause.sentence IS 'the cause in words, with # for each number';

RESET ROLE;
