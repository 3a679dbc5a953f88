/* The loop of recorder-load with the recorder compiled out. */
#define MPROF_RECORDER_OFF
#include <mprof/recorder.h>

#include "recorder-load.h"

LOOP(loop_off, mprof_recorder_try_read((struct mprof_recorder *)0, 1, i))
