/*
 * A thread that decodes the bytes of one stream while the caller receives the next bytes.
 *
 * From decoder_thread_start() to decoder_thread_stop() the stream decoder and its consumer belong to
 * the thread.
 */
#ifndef CTL_DECODER_THREAD_H
#define CTL_DECODER_THREAD_H

#include "stream-decoder.h"

struct decoder_thread;

/*
 * Start a thread for DECODER, which is borrowed. Return it, or NULL if there is no thread or no memory;
 * then the caller decodes itself.
 */
struct decoder_thread *decoder_thread_start(struct stream_decoder *decoder);
/*
 * Give LEN bytes to the thread. Wait as long as it has too many bytes. Return 0; or the error at which
 * it stopped decoding, as stream_decoder_put(), which may be of earlier bytes.
 */
int decoder_thread_put(struct decoder_thread *t, const void *bytes, size_t len);
/*
 * Wait until the thread has decoded all bytes, end it, and free T. Return as decoder_thread_put(). T may
 * be NULL.
 */
int decoder_thread_stop(struct decoder_thread *t);

#endif
