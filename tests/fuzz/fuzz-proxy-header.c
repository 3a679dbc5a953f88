/* Fuzz the parser of the PROXY protocol's header: its answer must not depend on bytes behind the header. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "proxy-header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proxy_header h, again;
	enum proxy_state state = proxy_header_parse(data, size, &h);

	require(state == PROXY_MORE || state == PROXY_DONE || state == PROXY_BAD);
	require(state != PROXY_MORE || size < PROXY_HEADER_MOST);
	if (state != PROXY_DONE)
		return 0;
	require(h.bytes > 0 && h.bytes <= size && h.bytes <= PROXY_HEADER_MOST);
	require(h.local || h.client.ss_family == AF_INET || h.client.ss_family == AF_INET6);
	require(proxy_header_parse(data, h.bytes, &again) == PROXY_DONE);
	require(again.bytes == h.bytes && again.local == h.local && again.client_bytes == h.client_bytes);
	require(memcmp(&again.client, &h.client, sizeof(h.client)) == 0);
	for (size_t n = 0; n < h.bytes; n++)
		require(proxy_header_parse(data, n, &again) == PROXY_MORE);
	return 0;
}
