/* The signal of the sampler, hidden from the program.
 *
 * The program may block all signals, wait for all signals, or install a handler for all signals: in these functions of
 * the C library, the signal of the sampler is left out. If somebody else sends the signal, the program's handler gets
 * it.
 */
#ifndef KYMO_SAMPLE_PRELOAD_OWN_SIGNAL_H
#define KYMO_SAMPLE_PRELOAD_OWN_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

#include "send.h"

/* A timer has a signal that hardly any program uses, a performance event SIGTRAP. */
enum kymo_by { KYMO_BY_TIMERS, KYMO_BY_PERF };
KYMO_HIDDEN int kymo_own_signal(void); /* 0: there is no handler yet */

/* Installs the handler for expirations of our timers, or for our performance event. False: the system refuses. */
KYMO_HIDDEN bool kymo_install_handler(enum kymo_by by, void (*handler)(siginfo_t* info, void* context));

/* Reads a word at any address, in a signal handler too. False: it cannot be read. Faults of all other instructions go
 * to the program's handler, or end the program as without us. Only after kymo_permit_loads() was true, and in a handler
 * only if the thread does not block these faults. */
KYMO_HIDDEN bool kymo_load(uintptr_t from, uint64_t* into);
KYMO_HIDDEN bool kymo_permit_loads(void);
KYMO_HIDDEN bool kymo_may_load(const ucontext_t* at);

/* The signal arrives on this thread, whatever it inherited. */
KYMO_HIDDEN void kymo_unblock_own_signal(void);
/* What the program believes about the calling thread: sigprocmask and pthread_sigmask report what it has asked for. */
KYMO_HIDDEN bool kymo_is_own_signal_blocked(void);
KYMO_HIDDEN void kymo_set_own_signal_blocked(bool blocked);
/* What our timers carry. */
KYMO_HIDDEN void* kymo_timer_mark(void);

#endif
