/* Make and hash secrets with GnuTLS. */
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "secret.h"

void secret_digits(const uint8_t *bytes, size_t n, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*text++ = digits[bytes[i] >> 4];
		*text++ = digits[bytes[i] & 15];
	}
	*text = '\0';
}

bool secret_new(size_t n, char *text)
{
	uint8_t random[SECRET_BYTES];

	if (n > sizeof(random) || gnutls_rnd(GNUTLS_RND_KEY, random, n) < 0)
		return false;
	secret_digits(random, n, text);
	gnutls_memset(random, 0, sizeof(random));
	return true;
}

bool secret_hash(const char *text, uint8_t hash[SECRET_HASH])
{
	return gnutls_hash_fast(GNUTLS_DIG_SHA256, text, SECRET_DIGITS, hash) == 0;
}
