/* A sink is a table of functions. kymo/sink.h turns the built-in ones on; here a program adds its own. For C, and for
 * any language that can call C.
 *
 * A sink receives every range, mark and counter that begins while it is on, from all threads and from all copies of the
 * library in the process. It does not receive flows. Annotations inside a sink's call, or in a signal handler that
 * interrupted one, are not sent to any sink. In a forked child sinks stay on, and receive what begins in the child.
 */
#ifndef KYMO_SINK_CALLS_H
#define KYMO_SINK_CALLS_H

#include <stdint.h>

#include "kymo/kymo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One event on a device, from the profiler (kymo/profiler.h). Texts are not NUL-terminated. */
typedef struct kymo_signpost {
  uint64_t id;      /* the same for the same kernel, operation or kind of copy; never 0 */
  const char* name; /* "scale", "copy host to device" */
  uint32_t name_length;
  uint32_t kind;           /* kymo_signpost_kind */
  uint64_t run;            /* the number of the execution of this id: 1, 2, … */
  const char* message;     /* the whole line: "scale:opencl:0:f32[16] (id=K1, run=2, gpu=0.012 ms)" */
  uint32_t message_length; /* 0 if no sink wants messages */
  uint32_t reserved;
  uint64_t start_ns; /* on the device, converted to CLOCK_MONOTONIC; 0 in interval_begin */
  uint64_t end_ns;
  uint64_t execution; /* the same in interval_begin and interval_end; unique in this process */
} kymo_signpost;

enum kymo_signpost_kind {
  KYMO_SIGNPOST_OPERATION = 1, /* several kernels under one name */
  KYMO_SIGNPOST_KERNEL = 2,
  KYMO_SIGNPOST_COPY = 3,
  KYMO_SIGNPOST_FALLBACK = 4 /* work that the host did instead of the device */
};

/* What a sink is asked about before anything is formatted for it. */
enum kymo_sink_interest {
  KYMO_SINK_NESTED = 1,  /* range_push, range_pop: pushed ranges and scopes */
  KYMO_SINK_STARTED = 2, /* range_start, range_end */
  KYMO_SINK_MARKS = 3,
  KYMO_SINK_COUNTERS = 4,
  KYMO_SINK_SIGNPOSTS = 5
};

/* A sink. Every function may be null, and must not throw. It is called on the thread that annotates; signposts come on
 * the thread that detected them. `text` is the name with its arguments filled in, NUL-terminated, at most 511 bytes. */
typedef struct kymo_sink {
  const char* name;
  void (*range_push)(const char* text, const kymo_label* label);
  void (*range_pop)(void); /* only for a range that was pushed into this sink, so it is always matched */
  void (*range_start)(const char* text, const kymo_label* label, uint64_t handle);
  void (*range_end)(uint64_t handle); /* only for a range that was started in this sink; on any thread */
  void (*mark)(const char* text, const kymo_label* label);
  void (*counter)(const char* text, double value);
  void (*interval_begin)(const kymo_signpost* signpost); /* the call that queues the work */
  void (*interval_end)(const kymo_signpost* signpost);   /* the work has run */
  void (*event)(const kymo_signpost* signpost);          /* the work has run, in mode "event" */
  int wants_messages;                                    /* nonzero: fill in kymo_signpost::message */
  /* Returns zero if no tool reads this now; then it is not sent. For a range, its end is not sent either. Null: always
   * send. */
  int (*listens)(enum kymo_sink_interest interest);
} kymo_sink;

/* Adds a sink of the program. It must outlive the process. Max 8 different sinks per process; a removed sink keeps its
 * slot, so that it can be added again. Returns 0 if all slots are used. Adding a sink twice does nothing. */
KYMO_API int kymo_add_sink(const kymo_sink* sink);
/* A call of the sink may still run when this returns. */
KYMO_API void kymo_remove_sink(const kymo_sink* sink);

/* For the profiler: sends a signpost to all sinks. `which` is 0 for begin, 1 for end, 2 for event. Does nothing without
 * sinks. */
KYMO_API void kymo_send_signpost(const kymo_signpost* signpost, int which);
/* Nonzero if at least one active sink wants messages, and its `listens` is not zero. */
KYMO_API int kymo_sinks_want_messages(void);

#ifdef __cplusplus
}
#endif

#endif
