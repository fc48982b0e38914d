/* Records the work of an accelerator in a trace: queues as tracks with their own clock, operations with the launch that
 * caused them, memory. C++ programs include kymo/queue_track.h instead: the same with types.
 *
 *   kymo_queue_info info = {"compute", uuid, context, 0, 1, 1000, 27, 0, 0, "NPU"};  // 27 MHz: 1000/27 ns per tick
 *   kymo_queue* queue = kymo_queue_open(&info);
 *   …
 *   uint64_t correlation = kymo_next_correlation(), began = kymo_ticks();
 *   launch(…);
 *   kymo_span(&launch_label, args, 1, began, correlation);                    // on this thread: the call
 *   …                                                                         // when it has run:
 *   kymo_queue_span(queue, &kernel_label, args, 1, start, end, correlation);  // on the queue: the work
 *   kymo_queue_clock_pair(queue, device_now, monotonic_ns, realtime_ns, error_ns);
 *
 * It is for device runtimes, for libraries that are loaded into other programs, and for engines with their own device.
 * Times on a queue are the device's ticks, unchanged. A reader converts them with the clock pairs and reports the
 * possible error. Readers draw an arrow from the span on a thread to the span on a queue with the same correlation.
 *
 * No function fails, throws or takes a lock. All do nothing while nothing records, and if the queue is null. Only one
 * thread at a time may use a queue: the caller must serialise, and must not call from a signal handler. All other
 * functions are for any thread at any time, as kymo.h says. A queue has a ring in the segment, like a thread: the
 * session's policy applies to it, its losses are counted for it, and what was recorded outlives the process. A queue
 * stays open over any number of sessions, and records its description and its clock again in each. A forked child
 * cannot use its parent's device: the parent's queues record nothing there until the child opens its own.
 */
#ifndef KYMO_QUEUE_H
#define KYMO_QUEUE_H

#include "kymo/kymo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

typedef struct kymo_queue kymo_queue;

/* Identifies a queue of a device, and describes its clock. The texts are NUL-terminated and copied. */
typedef struct kymo_queue_info {
  const char* name;            /* may be null: readers show "queue 3"; the first 95 bytes are kept */
  const char* device_uuid;     /* identifies the device, also between processes; the first 63 bytes are kept */
  uint64_t context;            /* as the device's API defines it; 0 if it has none */
  uint64_t queue;              /* its number in the context */
  uint64_t clock;              /* queues of one device with the same number share one clock and its pairs */
  uint64_t period_numerator;   /* nanoseconds per tick, as a ratio; 0: unknown, computed from two or more pairs */
  uint64_t period_denominator; /* 0 counts as 1 */
  uint32_t wrap_bits;          /* the counter's width if it wraps; 0 and 64: it does not */
  uint32_t reserved;           /* 0 */
  const char* device_name;     /* for people: "NVIDIA H200"; may be null; the first 63 bytes are kept */
} kymo_queue_info;

/* Returns null if there is no memory; all other functions accept null and do nothing. Costs one page of memory. The
 * queue gets its slot in the segment with its first record. */
KYMO_API kymo_queue* kymo_queue_open(const kymo_queue_info* info);
/* No thread may use the queue any more. What was recorded stays. */
KYMO_API void kymo_queue_close(kymo_queue* queue);

/* Records one operation, in the device's ticks. Operations may overlap and come in any order; the order of their ends
 * is cheapest for readers. `correlation` is the launch's; 0: none. Costs about 25 to 45 ns. */
KYMO_API void kymo_queue_span(kymo_queue* queue, const kymo_label* label, const kymo_arg* args, uint32_t count,
                              uint64_t start, uint64_t end, uint64_t correlation);

/* The same for a site: its label is constant, and its arguments have the same names and types each time. A third
 * cheaper. */
KYMO_API void kymo_queue_span_at(kymo_queue* queue, kymo_site* site, const kymo_arg* args, uint32_t count,
                                 uint64_t start, uint64_t end, uint64_t correlation);

/* A range on the device whose end is not known when it begins. `handle` is from kymo_next_handle. The end may be on
 * another queue, or on a thread by kymo_range_end. */
KYMO_API void kymo_queue_range_begin(kymo_queue* queue, const kymo_label* label, const kymo_arg* args, uint32_t count,
                                     uint64_t time, uint64_t handle);
KYMO_API void kymo_queue_range_end(kymo_queue* queue, uint64_t time, uint64_t handle);

/* The same moment on both clocks: the device's counter was `ticks` at these times of CLOCK_MONOTONIC and
 * CLOCK_REALTIME, in nanoseconds, within ±error_ns. Without at least one pair, the times of a queue cannot be
 * converted. One pair when the queue is opened and one per second is enough. The last two are kept for the next
 * session, also while nothing records. */
KYMO_API void kymo_queue_clock_pair(kymo_queue* queue, uint64_t ticks, uint64_t monotonic_ns, uint64_t realtime_ns,
                                    uint64_t error_ns);

/* `count` operations ran whose times are not available. They appear in the trace's loss ledger. */
KYMO_API void kymo_queue_lost(kymo_queue* queue, uint64_t count);

/* ---- On the calling thread --------------------------------------------------------------------------------------- */

/* Now, on the clock of threads, which every record uses. */
KYMO_API uint64_t kymo_ticks(void);

/* A number that connects a launch to the work it causes: unique in this process and never 0. Costs a few
 * nanoseconds. */
KYMO_API uint64_t kymo_next_correlation(void);

/* A handle for kymo_queue_range_begin, from the same numbers as kymo_range_start. */
KYMO_API uint64_t kymo_next_handle(void);

/* A range on this thread from `start_ticks` to now, in one record. Use it for a call that contains no other range, such
 * as a launch. If it does contain some, it is kept complete: around them if possible, otherwise beside them. */
KYMO_API void kymo_span(const kymo_label* label, const kymo_arg* args, uint32_t count, uint64_t start_ticks,
                        uint64_t correlation);

/* The same for a site. */
KYMO_API void kymo_span_at(kymo_site* site, const kymo_arg* args, uint32_t count, uint64_t start_ticks,
                           uint64_t correlation);

/* Memory at `address` was allocated, or freed. The arguments say how much and on which device: by convention the first
 * one is a KYMO_BYTES named "bytes", the second one a string "device". */
KYMO_API void kymo_allocation(const kymo_label* label, const kymo_arg* args, uint32_t count, uint64_t address);
KYMO_API void kymo_free(const kymo_label* label, const kymo_arg* args, uint32_t count, uint64_t address);

/* Turns KYMO_MODE_WATCHED on or off: someone observes the work of devices, also while nothing records. For a device
 * runtime that passes its operations on to others. */
KYMO_API void kymo_watch_devices(int on);

/* ---- The end of a session ---------------------------------------------------------------------------------------- */

typedef void (*kymo_flush)(void* context);

/* Registers `flush(context)`. It is called before a session of this process ends or dumps, so that completed work whose
 * times were not queried yet gets into the trace. It runs on the thread that ends or dumps the session, while recording
 * is still active. At exit() it is called from an atexit handler that this function registers, before the destructors
 * of objects that were made earlier, and never after that. It may record; it must not start or end a session. Max 64
 * per process. Returns 0 if all are used. In a forked child none is registered. */
KYMO_API int kymo_on_flush(kymo_flush flush, void* context);
/* When this returns, the callback does not run and will not be called again. So do not hold a lock that the callback
 * takes. It may be called from inside a callback. */
KYMO_API void kymo_remove_flush(kymo_flush flush, void* context);

#ifdef __cplusplus
}
#endif

#endif
