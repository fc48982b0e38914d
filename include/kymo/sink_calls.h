/* A sink as a table of functions: what kymo/sink.h turns on, and how a program adds one of its own. For C, and for any
 * language that can call C.
 *
 * A sink hears every range, mark and counter that begins while it is on, of all threads and of all copies of the
 * library in the process; flows it does not hear. What an annotation does inside a sink's call, or in a signal handler
 * that interrupted one, is not sent to anybody. A forked child's sinks stay on, and hear what begins in the child.
 */
#ifndef KYMO_SINK_CALLS_H
#define KYMO_SINK_CALLS_H

#include <stdint.h>

#include "kymo/kymo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One thing that happened on a device, of the profiler (kymo/profiler.h). Texts are not NUL-terminated. */
typedef struct kymo_signpost {
  uint64_t id;      /* stays with the same kernel, operation, kind of copy; never 0 */
  const char* name; /* "scale", "copy host to device" */
  uint32_t name_length;
  uint32_t kind;           /* kymo_signpost_kind */
  uint64_t run;            /* which execution of this id: 1, 2, … */
  const char* message;     /* the whole line: "scale:opencl:0:f32[16] (id=K1, run=2, gpu=0.012 ms)" */
  uint32_t message_length; /* 0 where no sink asked for messages */
  uint32_t reserved;
  uint64_t start_ns; /* on the device, as CLOCK_MONOTONIC; 0 in a begin */
  uint64_t end_ns;
  uint64_t execution; /* ties a begin and its end: unique in this process */
} kymo_signpost;

enum kymo_signpost_kind {
  KYMO_SIGNPOST_OPERATION = 1, /* several kernels under one name */
  KYMO_SIGNPOST_KERNEL = 2,
  KYMO_SIGNPOST_COPY = 3,
  KYMO_SIGNPOST_FALLBACK = 4 /* the host's work in the place of the device's */
};

/* What a sink may be asked about before anything is put together for it. */
enum kymo_sink_interest {
  KYMO_SINK_NESTED = 1,  /* range_push, range_pop: pushed ranges and scopes */
  KYMO_SINK_STARTED = 2, /* range_start, range_end */
  KYMO_SINK_MARKS = 3,
  KYMO_SINK_COUNTERS = 4,
  KYMO_SINK_SIGNPOSTS = 5
};

/* A sink. Every function may be null, is called on the thread that annotates (signposts: on the one that noticed), and
 * must not throw. `text` is the whole name with its arguments in place, NUL-terminated and at most 511 bytes. */
typedef struct kymo_sink {
  const char* name;
  void (*range_push)(const char* text, const kymo_label* label);
  void (*range_pop)(void); /* only what was pushed into this sink: it never sees an unmatched one */
  void (*range_start)(const char* text, const kymo_label* label, uint64_t handle);
  void (*range_end)(uint64_t handle); /* only what was started into this sink; from any thread */
  void (*mark)(const char* text, const kymo_label* label);
  void (*counter)(const char* text, double value);
  void (*interval_begin)(const kymo_signpost* signpost); /* the call that queues the work */
  void (*interval_end)(const kymo_signpost* signpost);   /* it is known to have run */
  void (*event)(const kymo_signpost* signpost);          /* it is known to have run: mode "event" */
  int wants_messages;                                    /* of signposts */
  /* Zero: nobody would hear it now, and it is not sent. A range that was not sent does not end either. Null: always. */
  int (*listens)(enum kymo_sink_interest interest);
} kymo_sink;

/* Adds a sink of the program's own; it must outlive the process. A process has room for 8 different ones, and one that
 * was removed keeps its place for when it is added again. Returns 0 where there is no room. Adding one twice does
 * nothing. */
KYMO_API int kymo_add_sink(const kymo_sink* sink);
/* It may still be in a call when this returns. */
KYMO_API void kymo_remove_sink(const kymo_sink* sink);

/* For the profiler: a signpost to all sinks. Which: 0 begin, 1 end, 2 event. Does nothing where there is no sink. */
KYMO_API void kymo_send_signpost(const kymo_signpost* signpost, int which);
/* Nonzero where some sink that is on wants messages, and listens. */
KYMO_API int kymo_sinks_want_messages(void);

#ifdef __cplusplus
}
#endif

#endif
