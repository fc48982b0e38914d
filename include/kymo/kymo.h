/* Kymo's annotations for C, and for any language that can call C.
 *
 * Every function may be called from any thread, from signal handlers and from thread-local destructors, at any time
 * before, during and after a recording. None fails, allocates, locks or makes a system call on its way (but for a
 * thread's first record, for policy `block` when a ring is full, and for sinks). Text is copied: nothing passed in must
 * outlive the call. C++ programs include kymo/annotate.h instead, which is this with types. Devices have kymo/queue.h.
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

/* Opens a nested range on this thread. Returns its zero-based depth among the pushed ranges of this thread, which is
 * true whether or not anything records. */
KYMO_API int kymo_range_push(const char* name);
/* Closes the innermost pushed range and returns the depth it had; -1 on an empty stack (counted while recording). */
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
/* Ties the ranges open at these moments into one flow; `flow` is any number the program chooses. */
KYMO_API void kymo_flow_begin(const char* name, uint64_t flow);
KYMO_API void kymo_flow_step(const char* name, uint64_t flow);
KYMO_API void kymo_flow_end(const char* name, uint64_t flow);
/* Names this thread in the trace. 47 bytes are kept. */
KYMO_API void kymo_set_thread_name(const char* name);
/* Nonzero while something records. */
KYMO_API int kymo_is_recording(void);

/* ---- The long form: labels, arguments, call sites ---------------------------------------------------------------- */

/* What an event is called. The name may hold "{}" places for arguments, which are stored as they are and put in when
 * the trace is read. */
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
  const char* name; /* NUL-terminated; null: the next "{}" of the event's name */
  union {
    int64_t as_int;
    uint64_t as_uint;
    double as_double;
    const char* as_text;
  } value;
  uint32_t length; /* of a string */
  uint32_t type;   /* kymo_type */
} kymo_arg;

/* A place in the code that records: static storage, zero beyond its label. It finds its class once. */
typedef struct kymo_site {
  kymo_label label;
  kymo_atomic_u32 class_id;
} kymo_site;

/* Bit 0: something records. Bit 1: sinks hear (kymo/sink.h). The macros test both before they call anything. */
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

/* A scoped range at a call site: the shortest way there is. kymo_end only for what kymo_begin or kymo_begin_args
 * opened. */
KYMO_API void kymo_begin(kymo_site* site);
KYMO_API void kymo_begin_args(kymo_site* site, const kymo_arg* args, uint32_t count);
KYMO_API void kymo_end(void);

/* The same for whoever tested kymo_mode: `heard` is its bits 0 and 1, not both 0, and the same at the range's two ends,
 * so that a range ends for those who heard it begin. */
KYMO_API void kymo_begin_heard(kymo_site* site, uint32_t heard);
KYMO_API void kymo_begin_args_heard(kymo_site* site, const kymo_arg* args, uint32_t count, uint32_t heard);
KYMO_API void kymo_begin_label_heard(const kymo_label* label, const kymo_arg* args, uint32_t count, uint32_t heard);
KYMO_API void kymo_end_heard(uint32_t heard);

/* Any event but a push, by its label. `id` is the flow of a flow, else 0. */
KYMO_API void kymo_record(enum kymo_kind kind, const kymo_label* label, const kymo_arg* args, uint32_t count,
                          uint64_t id);
KYMO_API int kymo_range_push_label(const kymo_label* label, const kymo_arg* args, uint32_t count);
KYMO_API uint64_t kymo_range_start_label(const kymo_label* label, const kymo_arg* args, uint32_t count);

/* Makes sure that a program that links Kymo statically has its collector too, and the sinks; called by nobody. */
KYMO_API void kymo_link_collector(void);
KYMO_API void kymo_link_sinks(void);

#ifdef __cplusplus
}
#endif

#endif
