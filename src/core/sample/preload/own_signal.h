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

/* A signal that hardly any program uses. */
KYMO_HIDDEN int kymo_own_signal(void);

/* Installs the handler for expirations of our timers. False: the system refuses. */
KYMO_HIDDEN bool kymo_install_handler(void (*handler)(siginfo_t* info, void* context));
/* The signal arrives on this thread, whatever it inherited. */
KYMO_HIDDEN void kymo_unblock_own_signal(void);
/* What the program believes about the calling thread: sigprocmask and pthread_sigmask report what it has asked for. */
KYMO_HIDDEN bool kymo_is_own_signal_blocked(void);
KYMO_HIDDEN void kymo_set_own_signal_blocked(bool blocked);
/* What our timers carry. */
KYMO_HIDDEN void* kymo_timer_mark(void);

#endif
