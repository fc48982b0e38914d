/* Packets of this process for the recorder. All functions may be called in a signal handler. */
#ifndef KYMO_SAMPLE_PRELOAD_SEND_H
#define KYMO_SAMPLE_PRELOAD_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#define KYMO_HIDDEN __attribute__((visibility("hidden")))

/* Finds the memory of the recorder. False: there is none, or it is not for this `kind`: "", or KYMO_PACKETS_OF_PYTHON.
 */
KYMO_HIDDEN bool kymo_open_packets(const char* kind);
KYMO_HIDDEN uint64_t kymo_interval_ns(void);

struct kymo_who {
  uint32_t pid, tid;
};

/* A new program in this process: its name, its words, its code. Without words (argc is 0), they are read from /proc.
 * Not for signal handlers. */
KYMO_HIDDEN void kymo_send_program(struct kymo_who who, int argc, char* const* argv);
KYMO_HIDDEN void kymo_send_fork(struct kymo_who child, uint32_t parent_pid);
/* `cpu_ns` is the CPU time of the thread. */
KYMO_HIDDEN void kymo_send_exit(struct kymo_who who, uint64_t cpu_ns);
/* A file was unloaded. Other code may be at its addresses next. Without a slot, it is sent with the next sample. */
KYMO_HIDDEN void kymo_send_unload(struct kymo_who who);
/* Null: the program has no Python. dlsym would leave memory of its own for a name that it does not find. */
extern char _PyRuntime[] __attribute__((weak));
/* Looks for Python in this program: from then on, samples have its functions. False: there is none. Not for signal
 * handlers. */
KYMO_HIDDEN bool kymo_find_own_python(struct kymo_who who);
/* In the child of a fork: it is unknown to the recorder what its parent has told. */
KYMO_HIDDEN void kymo_forget_sent_code(void);
/* `count` samples with the same stack: registers, and the stack up to `stack_high` if it is known. 0: no sample, only
 * where the thread is. `has_kernel`: they stand for the time in the kernel too. */
KYMO_HIDDEN void kymo_send_sample(struct kymo_who who, uint64_t count, bool has_kernel, const ucontext_t* at,
                                  uintptr_t stack_low, uintptr_t stack_high);

#endif
