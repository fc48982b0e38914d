#define _GNU_SOURCE
#include "own_signal.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_installed;
static void (*on_timer)(siginfo_t*, void*);
static struct sigaction program_action; /* what the program wants for this signal */
static char mark;
/* What the program believes about its signal mask: the signal is never blocked. */
static __thread bool is_blocked __attribute__((tls_model("initial-exec")));

int kymo_own_signal(void) { return SIGRTMAX - 6; }
void* kymo_timer_mark(void) { return &mark; }
bool kymo_is_own_signal_blocked(void) { return is_blocked; }
void kymo_set_own_signal_blocked(bool blocked) { is_blocked = blocked; }

/* The function of the C library. A call may come before our initializer: from that of another library. */
#define KYMO_NEXT(result, name, ...)                                          \
  static result (*next_##name)(__VA_ARGS__);                                  \
  static result (*find_##name(void))(__VA_ARGS__) {                           \
    if (next_##name == NULL) *(void**)&next_##name = dlsym(RTLD_NEXT, #name); \
    return next_##name;                                                       \
  }
#define KYMO_EXPORT __attribute__((visibility("default")))

typedef void (*Handler)(int);
KYMO_NEXT(int, sigaction, int, const struct sigaction*, struct sigaction*)
KYMO_NEXT(Handler, signal, int, Handler)
KYMO_NEXT(int, sigprocmask, int, const sigset_t*, sigset_t*)
KYMO_NEXT(int, pthread_sigmask, int, const sigset_t*, sigset_t*)
KYMO_NEXT(int, sigwait, const sigset_t*, int*)
KYMO_NEXT(int, sigwaitinfo, const sigset_t*, siginfo_t*)
KYMO_NEXT(int, sigtimedwait, const sigset_t*, siginfo_t*, const struct timespec*)
KYMO_NEXT(int, signalfd, int, const sigset_t*, int)

static const sigset_t* without_own(const sigset_t* set, sigset_t* copy) {
  if (!is_installed || set == NULL || sigismember(set, kymo_own_signal()) != 1) return set;
  *copy = *set;
  sigdelset(copy, kymo_own_signal());
  return copy;
}

/* After a change of the mask: the program sees what it has asked for. */
static int changed_mask(int result, int how, const sigset_t* set, sigset_t* before, bool wants_own) {
  if (!is_installed || result != 0) return result;
  if (before != NULL && is_blocked) sigaddset(before, kymo_own_signal());
  if (set == NULL) return result;
  if (how == SIG_SETMASK)
    is_blocked = wants_own;
  else if (wants_own)
    is_blocked = how == SIG_BLOCK;
  return result;
}

static void forward(int number, siginfo_t* info, void* context) {
  const struct sigaction action = program_action;
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(number, info, context);
  } else if (action.sa_handler == SIG_DFL) {
    struct sigaction usual;
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    find_sigaction()(number, &usual, NULL);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number); /* ends the program when this handler returns */
  } else if (action.sa_handler != SIG_IGN) {
    action.sa_handler(number);
  }
}

static void handle(int number, siginfo_t* info, void* context) {
  const int error = errno;
  if (info->si_code == SI_TIMER && info->si_value.sival_ptr == &mark)
    on_timer(info, context);
  else
    forward(number, info, context);
  errno = error;
}

bool kymo_install_handler(void (*handler)(siginfo_t* info, void* context)) {
  if (find_sigaction() == NULL) return false;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handle;
  /* On the alternate stack, if the program has one: its own stacks may be too small. */
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  on_timer = handler;
  if (find_sigaction()(kymo_own_signal(), &action, &program_action) != 0) return false;
  is_installed = true;
  return true;
}

void kymo_unblock_own_signal(void) {
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, kymo_own_signal());
  if (find_pthread_sigmask() != NULL) find_pthread_sigmask()(SIG_UNBLOCK, &own, NULL);
}

/* ---- The functions of the C library ----------------------------------------------------------------------------- */

KYMO_EXPORT int sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  if (!is_installed || number != kymo_own_signal()) return find_sigaction()(number, action, before);
  const struct sigaction old = program_action;
  if (action != NULL) program_action = *action;
  if (before != NULL) *before = old;
  return 0;
}

KYMO_EXPORT Handler signal(int number, Handler handler) {
  if (!is_installed || number != kymo_own_signal() || handler == SIG_ERR) return find_signal()(number, handler);
  const Handler before = program_action.sa_handler;
  memset(&program_action, 0, sizeof program_action);
  program_action.sa_handler = handler;
  return before;
}

KYMO_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* before) {
  sigset_t copy;
  const bool wants_own = set != NULL && sigismember(set, kymo_own_signal()) == 1; /* `before` may be the same set */
  const int result = find_sigprocmask()(how, how == SIG_UNBLOCK ? set : without_own(set, &copy), before);
  return changed_mask(result, how, set, before, wants_own);
}

KYMO_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) {
  sigset_t copy;
  const bool wants_own = set != NULL && sigismember(set, kymo_own_signal()) == 1;
  const int result = find_pthread_sigmask()(how, how == SIG_UNBLOCK ? set : without_own(set, &copy), before);
  return changed_mask(result, how, set, before, wants_own);
}

KYMO_EXPORT int sigwait(const sigset_t* set, int* number) {
  sigset_t copy;
  return find_sigwait()(without_own(set, &copy), number);
}

KYMO_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  sigset_t copy;
  return find_sigwaitinfo()(without_own(set, &copy), info);
}

KYMO_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info, const struct timespec* timeout) {
  sigset_t copy;
  return find_sigtimedwait()(without_own(set, &copy), info, timeout);
}

KYMO_EXPORT int signalfd(int file, const sigset_t* set, int flags) {
  sigset_t copy;
  return find_signalfd()(file, without_own(set, &copy), flags);
}
