/* Kymo's annotations for C, and for any language that can call C.
 *
 * Every function may be called from any thread, from signal handlers and from thread-local destructors, at any time
 * before, during and after a recording. No function fails, allocates, locks or makes a system call. There are three
 * exceptions: a thread's first record, policy `block` when a ring is full, and sinks. Text is copied: nothing passed in
 * must outlive the call. C++ programs include kymo/annotate.h instead: the same with types. For devices see
 * kymo/queue.h.
 */
#ifndef KYMO_KYMO_H
#define KYMO_KYMO_H

#include <stddef.h>
#include <stdint.h>

#include "kymo/export.h"

#ifdef __cplusplus
#include <atomic>
extern "C" {
typedef std::atomic<uint32_t> kymo_atomic_u32;
#else
typedef _Atomic uint32_t kymo_atomic_u32;
#endif

/* ---- The short form: a name is a NUL-terminated string ---------------------------------------------------------- */

/* Opens a nested range on this thread. Returns its zero-based depth among the pushed ranges of this thread. The depth
 * is correct also while nothing records. */
KYMO_API int kymo_range_push(const char* name);
/* Closes the innermost pushed range and returns its depth. Returns -1 if none is open (counted while recording). */
KYMO_API int kymo_range_pop(void);
/* Opens a range that may end on another thread. Returns a handle, unique in this process and never 0. */
KYMO_API uint64_t kymo_range_start(const char* name);
/* Ends it. An unknown or ended handle is counted while recording. */
KYMO_API void kymo_range_end(uint64_t handle);
/* An instant. */
KYMO_API void kymo_mark(const char* name);
/* A value that changes over time. */
KYMO_API void kymo_counter_int(const char* name, int64_t value);
KYMO_API void kymo_counter_double(const char* name, double value);
/* Connects the ranges that are open at these moments to one flow. The program chooses the number `flow`. */
KYMO_API void kymo_flow_begin(const char* name, uint64_t flow);
KYMO_API void kymo_flow_step(const char* name, uint64_t flow);
KYMO_API void kymo_flow_end(const char* name, uint64_t flow);
/* Names this thread in the trace. The first 47 bytes are kept. */
KYMO_API void kymo_set_thread_name(const char* name);
/* Nonzero while something records. */
KYMO_API int kymo_is_recording(void);

/* ---- The long form: labels, arguments, call sites ---------------------------------------------------------------- */

/* The name of an event. It may have places for arguments: "{}", "{0}", "{rows}", "{:.3f}" (docs/format.md). Arguments
 * are stored unformatted; readers put them into the name. */
typedef struct kymo_label {
  const char* name;
  const char* category; /* may be null */
  uint32_t name_length;
  uint32_t category_length;
  uint32_t colour; /* 0xAARRGGBB; 0: none */
} kymo_label;

enum kymo_type {
  KYMO_INT = 1,
  KYMO_UINT = 2,
  KYMO_DOUBLE = 3,
  KYMO_STRING = 4,
  KYMO_BYTES = 5, /* a count of bytes */
  KYMO_POINTER = 6,
  KYMO_BOOL = 7
};

typedef struct kymo_arg {
  const char* name; /* NUL-terminated; null: it fills the next "{}" of the event's name */
  union {
    int64_t as_int;
    uint64_t as_uint;
    double as_double;
    const char* as_text;
  } value;
  uint32_t length; /* only for a string */
  uint32_t type;   /* kymo_type */
} kymo_arg;

/* A place in the code that records. Put it into static storage, with zeros after its label. It looks up its class only
 * once. */
typedef struct kymo_site {
  kymo_label label;
  kymo_atomic_u32 class_id;
} kymo_site;

/* Bits of kymo_mode: who receives what a program records. */
enum kymo_mode_bit {
  KYMO_MODE_RECORDING = 1,                                /* a recording */
  KYMO_MODE_SINKS = 2,                                    /* sinks: kymo/sink.h */
  KYMO_MODE_WATCHED = 4,                                  /* observers of the work of devices: kymo/queue.h */
  KYMO_MODE_HEARD = KYMO_MODE_RECORDING | KYMO_MODE_SINKS /* annotations are received */
};

/* The macros test its bits of KYMO_MODE_HEARD before they call anything. */
extern KYMO_API kymo_atomic_u32 kymo_mode;

enum kymo_kind {
  KYMO_RANGE_BEGIN = 1,
  KYMO_INSTANT = 3,
  KYMO_COUNTER = 4,
  KYMO_RANGE_START = 5,
  KYMO_FLOW_BEGIN = 7,
  KYMO_FLOW_STEP = 8,
  KYMO_FLOW_END = 9
};

/* A scoped range at a call site: the fastest way. Call kymo_end only for a range that kymo_begin or kymo_begin_args
 * opened. */
KYMO_API void kymo_begin(kymo_site* site);
KYMO_API void kymo_begin_args(kymo_site* site, const kymo_arg* args, uint32_t count);
KYMO_API void kymo_end(void);

/* The same for callers that have tested kymo_mode. `receivers` is its bits of KYMO_MODE_HEARD, and must not be 0. Pass
 * the same value at the start and the end of a range, so that the end goes to everyone who received the start. */
KYMO_API void kymo_begin_heard(kymo_site* site, uint32_t receivers);
KYMO_API void kymo_begin_args_heard(kymo_site* site, const kymo_arg* args, uint32_t count, uint32_t receivers);
KYMO_API void kymo_begin_label_heard(const kymo_label* label, const kymo_arg* args, uint32_t count, uint32_t receivers);
KYMO_API void kymo_end_heard(uint32_t receivers);

/* Records any event except a push, by its label. `id` is the number of a flow, otherwise 0. */
KYMO_API void kymo_record(enum kymo_kind kind, const kymo_label* label, const kymo_arg* args, uint32_t count,
                          uint64_t id);
KYMO_API int kymo_range_push_label(const kymo_label* label, const kymo_arg* args, uint32_t count);
KYMO_API uint64_t kymo_range_start_label(const kymo_label* label, const kymo_arg* args, uint32_t count);

/* Makes a program that links Kymo statically also link the collector and the sinks. Nobody calls these. */
KYMO_API void kymo_link_collector(void);
KYMO_API void kymo_link_sinks(void);

#ifdef __cplusplus
}
#endif

#endif
