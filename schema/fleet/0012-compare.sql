-- The fleet's database, migration 12: hosts compare what they hold with what the hub holds. Forward only: a released migration is never
-- edited.
SET ROLE fleet_owner;

-- Return a sum over the host's finished captures of ARCHIVE for each month from SINCE on in which the hub has anything of the host, and the
-- number of the host's pieces of packets, of all archives. It reads the rows of the host's captures and no body.
CREATE FUNCTION fleet.inventory_sums(archive uuid, since date)
	RETURNS TABLE (month date, captures bigint, sum bigint, packet_pieces bigint)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD'
	SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	me text := session_user;
BEGIN
	PERFORM fleet_store.sender(archive);
	IF since IS NULL OR NOT isfinite(since) THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'since is no date';
	END IF;
	-- The sum is that of 56 bits of a SHA-256 of each number, modulo 2^56: it does not depend on an order.
	RETURN QUERY SELECT u.month, coalesce(c.n, 0), coalesce(c.s, 0), u.packet_pieces FROM fleet_store.usage u
		LEFT JOIN (SELECT k.month, count(*) AS n,
			mod(sum(('x' || encode(substr(sha256(int8send(k.capture)), 1, 7), 'hex'))::bit(56)::bigint), 72057594037927936)::bigint AS s
			FROM fleet_store.capture k WHERE k.host = me AND k.archive = archive AND k.month >= since AND k.finished IS NOT NULL
			GROUP BY k.month) c ON c.month = u.month
		WHERE u.host = me AND u.month >= since ORDER BY 1;
END
$$;
GRANT EXECUTE ON FUNCTION fleet.inventory_sums TO fleet_host;

-- End the sessions of all hosts, too: each connects again within seconds, and compares what it holds with the hub.
CREATE OR REPLACE FUNCTION fleet.new_epoch() RETURNS uuid
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
DECLARE
	fresh uuid;
BEGIN
	UPDATE fleet_store.server SET epoch = gen_random_uuid() RETURNING epoch INTO fresh;
	PERFORM pg_terminate_backend(a.pid) FROM pg_stat_activity a JOIN fleet_store.host h ON h.host = a.usename;
	RETURN fresh;
END
$$;
RESET ROLE;
