/* How work of an accelerator gets into a trace: queues as tracks with their own clock, operations with the launch that
 * caused them, memory. C++ programs include kymo/queue_track.h instead, which is this with types.
 *
 *   kymo_queue_info info = {"compute", uuid, context, 0, 1, 1000, 27, 0, 0};  // 27 MHz: 1000/27 ns a tick
 *   kymo_queue* queue = kymo_queue_open(&info);
 *   …
 *   uint64_t correlation = kymo_next_correlation(), began = kymo_ticks();
 *   launch(…);
 *   kymo_span(&launch_label, args, 1, began, correlation);                    // on this thread: the call
 *   …                                                                         // when it is known to have run:
 *   kymo_queue_span(queue, &kernel_label, args, 1, start, end, correlation);  // on the queue: the work
 *   kymo_queue_clock_pair(queue, device_now, monotonic_ns, realtime_ns, error_ns);
 *
 * For a device runtime, a library that is loaded into other people's programs, an engine with its own device. Times on
 * a queue are the device's ticks as they came: nothing is shifted, a reader converts them through the pairs and says
 * how wrong that may be. Readers draw an arrow from the span on a thread to the one on a queue with its correlation.
 *
 * None of this fails, throws or takes a lock, and all of it does nothing while nothing records and where the queue is
 * null. One thread at a time may use a queue: whoever calls serialises, and not in a signal handler. The rest is for
 * any thread and any moment, as kymo.h says. A queue has a ring in the segment, as a thread does: the session's policy
 * applies to it, what is lost is counted on it, and what was recorded outlives the process. It stays open through as
 * many sessions as there are, and states itself and its clock anew in each. In a forked child, whose device is not the
 * parent's, queues that came along are silent until the child opens its own.
 */
#ifndef KYMO_QUEUE_H
#define KYMO_QUEUE_H

#include "kymo/kymo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Queues -------------------------------------------------------------------------------------------------------
 */

typedef struct kymo_queue kymo_queue;

/* Which queue of which device, and how its clock ticks. The texts are NUL-terminated and copied. */
typedef struct kymo_queue_info {
  const char* name;            /* may be null: readers say "queue 3"; 95 bytes are kept */
  const char* device_uuid;     /* tells devices apart, also between processes; 63 bytes are kept */
  uint64_t context;            /* whatever the device's interface calls one; 0 where it has none */
  uint64_t queue;              /* its number in the context */
  uint64_t clock;              /* queues of one device with the same number here tick together and share their pairs */
  uint64_t period_numerator;   /* nanoseconds a tick, as a ratio; 0: unknown, taken from two pairs or more */
  uint64_t period_denominator; /* 0 counts as 1 */
  uint32_t wrap_bits;          /* the counter's width where it wraps; 0 and 64: it does not */
  uint32_t reserved;           /* 0 */
} kymo_queue_info;

/* Null where there is no memory, which every other function takes for a queue that is not there. A page of memory; its
 * place in the segment comes with its first record. */
KYMO_API kymo_queue* kymo_queue_open(const kymo_queue_info* info);
/* Nothing may be using it. What was recorded stays. */
KYMO_API void kymo_queue_close(kymo_queue* queue);

/* One operation, in the device's ticks. They may overlap and may come in any order, though the order of their ends
 * costs readers least. `correlation` is the launch's, 0: none. Some 25 to 45 ns. */
KYMO_API void kymo_queue_span(kymo_queue* queue, const kymo_label* label, const kymo_arg* args, uint32_t count,
                              uint64_t start, uint64_t end, uint64_t correlation);

/* The same for a site, whose label is constant and whose arguments have the same names and types each time: a third
 * cheaper. */
KYMO_API void kymo_queue_span_at(kymo_queue* queue, kymo_site* site, const kymo_arg* args, uint32_t count,
                                 uint64_t start, uint64_t end, uint64_t correlation);

/* A range on the device whose end is not known when it begins. `handle` is from kymo_next_handle; the end may be on
 * another queue or, by kymo_range_end, on a thread. */
KYMO_API void kymo_queue_range_begin(kymo_queue* queue, const kymo_label* label, const kymo_arg* args, uint32_t count,
                                     uint64_t time, uint64_t handle);
KYMO_API void kymo_queue_range_end(kymo_queue* queue, uint64_t time, uint64_t handle);

/* One moment on both clocks: the device's counter stood at `ticks` within ±error_ns of CLOCK_MONOTONIC and
 * CLOCK_REALTIME, nanoseconds each. Without one pair at least a queue's times cannot be converted. One when the queue
 * is opened and then one a second is plenty; the last two are kept for the next session, also while nothing records. */
KYMO_API void kymo_queue_clock_pair(kymo_queue* queue, uint64_t ticks, uint64_t monotonic_ns, uint64_t realtime_ns,
                                    uint64_t error_ns);

/* `count` operations ran whose times could not be had. The trace's loss ledger says so. */
KYMO_API void kymo_queue_lost(kymo_queue* queue, uint64_t count);

/* ---- Beside the queues, on the calling thread ---------------------------------------------------------------------
 */

/* The clock of threads, as every record carries it. */
KYMO_API uint64_t kymo_ticks(void);

/* A number that ties a launch to what it causes: unique in this process and never 0. A few nanoseconds. */
KYMO_API uint64_t kymo_next_correlation(void);

/* For kymo_queue_range_begin; as kymo_range_start gives them. */
KYMO_API uint64_t kymo_next_handle(void);

/* A range on this thread from `start_ticks` to now, in one record: for a call that holds no other range, such as a
 * launch. One that holds some after all is kept whole, beside them where it cannot be put around them. */
KYMO_API void kymo_span(const kymo_label* label, const kymo_arg* args, uint32_t count, uint64_t start_ticks,
                        uint64_t correlation);

/* The same for a site. */
KYMO_API void kymo_span_at(kymo_site* site, const kymo_arg* args, uint32_t count, uint64_t start_ticks,
                           uint64_t correlation);

/* Memory at `address` was taken, or given back. The arguments say how much and of what device: by custom the first is
 * a KYMO_BYTES named "bytes", then a string "device". */
KYMO_API void kymo_allocation(const kymo_label* label, const kymo_arg* args, uint32_t count, uint64_t address);
KYMO_API void kymo_free(const kymo_label* label, const kymo_arg* args, uint32_t count, uint64_t address);

/* Turns bit 2 of kymo_mode on or off: somebody watches the work of devices, whether or not something records. For a
 * device runtime that hands its operations to others. */
KYMO_API void kymo_watch_devices(int on);

/* ---- The end of a session -----------------------------------------------------------------------------------------
 */

typedef void (*kymo_flush)(void* context);

/* `flush(context)` is called before a session of this process ends or dumps, so that work that has completed but was
 * not yet asked for its times gets in: on the thread that ends or dumps it, while recording is still on. At exit() it
 * is called from an atexit handler that this function registers, which is before the destructors of what was made
 * earlier, and then no more. It may record; it must not start or end a session. 64 may be registered in a process.
 * Returns 0 when there is no place left. In a forked child none is registered. */
KYMO_API int kymo_on_flush(kymo_flush flush, void* context);
/* When this returns the callback does not run and will not be called again; so hold no lock that it takes. From inside
 * a callback it is allowed. */
KYMO_API void kymo_remove_flush(kymo_flush flush, void* context);

#ifdef __cplusplus
}
#endif

#endif
