#include "account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define SECONDS 10u /* seconds over which a rate is averaged */

uint64_t bucket_take(struct bucket *b, uint64_t rate, uint64_t now, uint64_t bytes)
{
	uint64_t most;
	double room, more;

	if (rate == 0)
		return bytes;
	most = rate > UINT64_MAX / SECONDS ? UINT64_MAX : rate * SECONDS;
	room = (double)(most - (b->bytes < most ? b->bytes : most));
	more = (double)(now - b->at) / (double)NS_PER_S * (double)rate;
	if (b->at == 0 || more >= room)
		b->bytes = most;
	else
		b->bytes += (uint64_t)more;
	b->at = now;
	if (bytes > b->bytes)
		bytes = b->bytes;
	b->bytes -= bytes;
	b->full_at = now + (uint64_t)((double)(most - b->bytes) / (double)rate * (double)NS_PER_S);
	return bytes;
}

struct account *account_enter(struct accounts *a, const char *uuid, const char *address, uint64_t bytes)
{
	const char *key = uuid ? uuid : address;
	struct account *account = a->first;

	while (account && strcmp(account->key, key) != 0)
		account = account->next;
	if (!account) {
		account = calloc(1, sizeof(*account) + strlen(key) + 1);
		if (!account)
			return NULL;
		strcpy(account->key, key);
		account->next = a->first;
		a->first = account;
	}
	account->streams++;
	account_add(a, account, bytes);
	return account;
}

/*
 * Return whether the account has no stream and its bucket is full. Such an account can be freed,
 * because a new account would be the same.
 */
static bool is_idle(const struct account *account, uint64_t now)
{
	return !account->streams && now >= account->bucket.full_at;
}

static void forget(struct accounts *a, struct account *account)
{
	struct account **at = &a->first;

	while (*at != account)
		at = &(*at)->next;
	*at = account->next;
	free(account);
}

void account_leave(struct accounts *a, struct account *account, uint64_t bytes, uint64_t now)
{
	account->streams--;
	account->bytes -= bytes;
	a->bytes -= bytes;
	if (is_idle(account, now))
		forget(a, account);
}

void account_add(struct accounts *a, struct account *account, uint64_t bytes)
{
	account->bytes += bytes;
	a->bytes += bytes;
}

void accounts_tidy(struct accounts *a, uint64_t now)
{
	struct account **at = &a->first, *account;

	while ((account = *at)) {
		if (!is_idle(account, now)) {
			at = &account->next;
			continue;
		}
		*at = account->next;
		free(account);
	}
}

void accounts_deinit(struct accounts *a)
{
	struct account *next;

	for (struct account *account = a->first; account; account = next) {
		next = account->next;
		free(account);
	}
	*a = (struct accounts){0};
}
