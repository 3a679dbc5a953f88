-- The fleet's database, migration 7: tokens, sessions and revocations of the hub's API. Forward only: a released migration is never edited.
--
-- mprofd-http comes as a member of fleet_http. It may ask about credentials that somebody has presented to it, and begin and end sessions
-- with them. It cannot list tokens or hashes, and cannot make tokens: that is for people, who are members of fleet_access. The tables hold
-- SHA-256 of random 256 bits, from which nobody finds the secret.

DO $$
DECLARE
	role text;
BEGIN
	FOREACH role IN ARRAY ARRAY['fleet_http', 'fleet_access']
	LOOP
		IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
			EXECUTE format('CREATE ROLE %I NOLOGIN', role);
		END IF;
	END LOOP;
	EXECUTE format('GRANT CONNECT ON DATABASE %I TO fleet_http, fleet_access', current_database());
END
$$;
GRANT USAGE ON SCHEMA fleet TO fleet_http, fleet_access;
SET ROLE fleet_owner;

CREATE TABLE fleet_store.token (
	id         text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[0-9a-f]{16}$'),
	hash       bytea NOT NULL CHECK (octet_length(hash) = 32), -- SHA-256 of the secret
	name       text COLLATE "C" NOT NULL CHECK (name ~ '^[A-Za-z0-9._@-]{1,63}$'),
	scopes     text COLLATE "C" NOT NULL CHECK (octet_length(scopes) <= 1023 AND scopes !~ '[[:cntrl:]]'),
	made       timestamptz NOT NULL DEFAULT now(),
	made_by    text NOT NULL DEFAULT session_user,
	expires    timestamptz NOT NULL CHECK (isfinite(expires)),
	revoked    timestamptz,
	revoked_by text
);

CREATE TABLE fleet_store.session (
	hash    bytea PRIMARY KEY CHECK (octet_length(hash) = 32), -- SHA-256 of the cookie's value
	number  bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
	token   text COLLATE "C" NOT NULL REFERENCES fleet_store.token ON DELETE CASCADE,
	begun   timestamptz NOT NULL DEFAULT now(),
	expires timestamptz NOT NULL
);
CREATE INDEX ON fleet_store.session (token, number);

-- Names that are refused, whatever certificate or token they have.
CREATE TABLE fleet_store.revocation (
	kind       text COLLATE "C" NOT NULL CHECK (kind IN ('certificate', 'token', 'user')),
	name       text COLLATE "C" NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 255),
	revoked    timestamptz NOT NULL DEFAULT now(),
	revoked_by text NOT NULL DEFAULT session_user,
	PRIMARY KEY (kind, name)
);
-- A hub's own affair: the router of the shards has no right on these.
REVOKE ALL ON fleet_store.token, fleet_store.session, fleet_store.revocation FROM fleet_router;

-- ---- for mprofd-http --------------------------------------------------------------------------------------------------------------

-- Answer which of QUESTIONS hold: an array of at most 256 arrays [KIND, NAME, HASH]. KIND is `token` (NAME is its identifier, HASH the
-- SHA-256 of its secret in hexadecimal digits), `session` (NAME is '', HASH that of the cookie), `certificate` or `user` (NAME; it holds
-- unless it is revoked). A row for each question that holds, with its number from 1.
CREATE FUNCTION fleet.access_check(questions jsonb)
	RETURNS TABLE (number integer, token text, name text, scopes text, expires bigint)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_column
BEGIN
	IF jsonb_typeof(questions) IS DISTINCT FROM 'array' OR jsonb_array_length(questions) > 256 OR EXISTS (
		SELECT FROM jsonb_array_elements(questions) q WHERE jsonb_typeof(q) <> 'array' OR jsonb_array_length(q) <> 3
			OR q ->> 0 NOT IN ('token', 'session', 'certificate', 'user') OR octet_length(q ->> 1) > 255
			OR q ->> 0 IN ('token', 'session') AND (q ->> 2) !~ '^[0-9a-f]{64}$' OR q ->> 0 IS NULL OR q ->> 1 IS NULL OR q ->> 2 IS NULL)
	THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'questions is no array of at most 256 arrays of kind, name and hash';
	END IF;
	RETURN QUERY
		WITH q AS (SELECT e.n::integer AS number, e.q ->> 0 AS kind, e.q ->> 1 AS name, e.q ->> 2 AS hash
			FROM jsonb_array_elements(questions) WITH ORDINALITY e(q, n)),
		t AS (SELECT * FROM fleet_store.token k WHERE k.revoked IS NULL AND k.expires > clock_timestamp()
			AND NOT EXISTS (SELECT FROM fleet_store.revocation r WHERE r.kind = 'token' AND r.name = k.name))
		SELECT q.number, t.id, t.name, t.scopes, floor(extract(epoch FROM t.expires))::bigint FROM q JOIN t ON t.id = q.name
			WHERE q.kind = 'token' AND t.hash = decode(CASE q.kind WHEN 'token' THEN q.hash ELSE '' END, 'hex')
		UNION ALL
		SELECT q.number, t.id, t.name, t.scopes, floor(extract(epoch FROM least(t.expires, s.expires)))::bigint
			FROM q JOIN fleet_store.session s ON s.hash = decode(CASE q.kind WHEN 'session' THEN q.hash ELSE '' END, 'hex')
				AND s.expires > clock_timestamp()
			JOIN t ON t.id = s.token
		UNION ALL
		SELECT q.number, '', q.name, '', 0::bigint FROM q WHERE q.kind IN ('certificate', 'user')
			AND NOT EXISTS (SELECT FROM fleet_store.revocation r WHERE r.kind = q.kind AND r.name = q.name);
END
$$;

-- Begin a session of SECONDS for the token ID, whose secret has the hash TOKEN_HASH. HASH is that of the cookie. Return when it ends,
-- seconds since 1970; NULL: the token does not hold. A token has at most 16 sessions: a further one ends the oldest.
CREATE FUNCTION fleet.begin_session(hash bytea, id text, token_hash bytea, seconds bigint) RETURNS bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
DECLARE
	t fleet_store.token;
	ends timestamptz;
BEGIN
	IF octet_length(hash) IS DISTINCT FROM 32 OR seconds IS NULL OR seconds NOT BETWEEN 1 AND 2592000 THEN
		RAISE EXCEPTION USING ERRCODE = 'MP008', MESSAGE = 'hash has 32 bytes, and a session lasts 1 to 2592000 seconds';
	END IF;
	SELECT * INTO t FROM fleet_store.token k WHERE k.id = id AND k.hash = token_hash AND k.revoked IS NULL AND k.expires > clock_timestamp()
		AND NOT EXISTS (SELECT FROM fleet_store.revocation r WHERE r.kind = 'token' AND r.name = k.name) FOR UPDATE;
	IF NOT FOUND THEN
		RETURN NULL;
	END IF;
	ends := least(t.expires, clock_timestamp() + seconds * interval '1 second');
	INSERT INTO fleet_store.session (hash, token, expires) VALUES (hash, id, ends) ON CONFLICT ON CONSTRAINT session_pkey DO NOTHING;
	DELETE FROM fleet_store.session s WHERE s.token = id AND (s.expires <= clock_timestamp() OR s.number NOT IN
		(SELECT l.number FROM fleet_store.session l WHERE l.token = id AND l.expires > clock_timestamp() ORDER BY l.number DESC LIMIT 16));
	RETURN (SELECT floor(extract(epoch FROM s.expires))::bigint FROM fleet_store.session s WHERE s.hash = hash AND s.token = id);
END
$$;

-- End the session whose cookie has the hash HASH, if there is one.
CREATE FUNCTION fleet.end_session(hash bytea) RETURNS boolean
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
BEGIN
	DELETE FROM fleet_store.session s WHERE s.hash = hash;
	IF FOUND THEN
		PERFORM pg_notify('fleet_access', '');
		RETURN true;
	END IF;
	RETURN false;
END
$$;

-- ---- for people -------------------------------------------------------------------------------------------------------------------

-- Make the token ID. SECONDS is its life, at most 3,650 days. Tokens that ended more than 30 days ago are removed.
CREATE FUNCTION fleet.new_token(id text, hash bytea, name text, scopes text, seconds bigint) RETURNS bigint
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
DECLARE
	ends timestamptz;
BEGIN
	IF seconds IS NULL OR seconds NOT BETWEEN 1 AND 315360000 THEN
		RAISE EXCEPTION 'a token lasts 1 second to 3650 days';
	END IF;
	PERFORM pg_advisory_xact_lock(1836085861, 0);
	DELETE FROM fleet_store.token k WHERE least(k.expires, k.revoked) < now() - interval '30 days';
	IF (SELECT count(*) >= 4096 FROM fleet_store.token k WHERE k.revoked IS NULL AND k.expires > now()) THEN
		RAISE EXCEPTION 'the fleet has 4096 tokens already: revoke some';
	END IF;
	INSERT INTO fleet_store.token AS k (id, hash, name, scopes, expires)
		VALUES (id, hash, name, scopes, now() + seconds * interval '1 second') RETURNING k.expires INTO ends;
	RETURN floor(extract(epoch FROM ends))::bigint;
END
$$;

-- Revoke the token ID. Return whether there is one that was not revoked before.
CREATE FUNCTION fleet.revoke_token(id text) RETURNS boolean
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
BEGIN
	UPDATE fleet_store.token k SET revoked = now(), revoked_by = session_user WHERE k.id = id AND k.revoked IS NULL;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	DELETE FROM fleet_store.session s WHERE s.token = id;
	PERFORM pg_notify('fleet_access', '');
	RETURN true;
END
$$;

-- Refuse each certificate with the common name NAME, each token of the name NAME, or the user NAME of a hub. KIND says which.
CREATE FUNCTION fleet.revoke_identity(kind text, name text) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
BEGIN
	INSERT INTO fleet_store.revocation (kind, name) VALUES (kind, name) ON CONFLICT ON CONSTRAINT revocation_pkey DO NOTHING;
	PERFORM pg_notify('fleet_access', '');
END
$$;

-- Admit whom revoke_identity() has refused. Return whether there was such a revocation.
CREATE FUNCTION fleet.admit_identity(kind text, name text) RETURNS boolean
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
#variable_conflict use_variable
BEGIN
	DELETE FROM fleet_store.revocation r WHERE r.kind = kind AND r.name = name;
	IF FOUND THEN
		PERFORM pg_notify('fleet_access', '');
		RETURN true;
	END IF;
	RETURN false;
END
$$;

-- All tokens, oldest first, without their hashes. Times are seconds since 1970.
CREATE FUNCTION fleet.list_tokens()
	RETURNS TABLE (id text, name text, scopes text, made bigint, made_by text, expires bigint, revoked bigint, revoked_by text)
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
	SELECT k.id, k.name, k.scopes, floor(extract(epoch FROM k.made))::bigint, k.made_by, floor(extract(epoch FROM k.expires))::bigint,
		floor(extract(epoch FROM k.revoked))::bigint, k.revoked_by FROM fleet_store.token k ORDER BY k.made, k.id
$$;

-- All revocations of names, oldest first.
CREATE FUNCTION fleet.list_revocations() RETURNS TABLE (kind text, name text, revoked bigint, revoked_by text)
	LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' AS $$
	SELECT r.kind, r.name, floor(extract(epoch FROM r.revoked))::bigint, r.revoked_by FROM fleet_store.revocation r
	ORDER BY r.revoked, r.kind, r.name
$$;

GRANT EXECUTE ON FUNCTION fleet.access_check, fleet.begin_session, fleet.end_session TO fleet_http;
GRANT EXECUTE ON FUNCTION fleet.new_token, fleet.revoke_token, fleet.revoke_identity, fleet.admit_identity, fleet.list_tokens,
	fleet.list_revocations TO fleet_access;
RESET ROLE;
