#define _GNU_SOURCE
#include "own_signal.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static int own_signal; /* 0: not installed */
static void (*on_sample)(siginfo_t*, void*);
/* The signals that are ours, and what the program wants for them. */
static struct taken {
  int number; /* 0: not taken */
  struct sigaction program;
} taken[3];
static char mark;
/* What the program believes about its signal mask: the signal is never blocked. */
static __thread bool is_blocked __attribute__((tls_model("initial-exec")));

int kymo_own_signal(void) { return own_signal; }
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
  if (own_signal == 0 || set == NULL || sigismember(set, own_signal) != 1) return set;
  *copy = *set;
  sigdelset(copy, own_signal);
  return copy;
}

/* After a change of the mask: the program sees what it has asked for. */
static int changed_mask(int result, int how, const sigset_t* set, sigset_t* before, bool wants_own) {
  if (own_signal == 0 || result != 0) return result;
  if (before != NULL && is_blocked) sigaddset(before, own_signal);
  if (set == NULL) return result;
  if (how == SIG_SETMASK)
    is_blocked = wants_own;
  else if (wants_own)
    is_blocked = how == SIG_BLOCK;
  return result;
}

static struct taken* taken_of(int number) {
  for (size_t i = 0; i < sizeof taken / sizeof *taken; ++i)
    if (number != 0 && taken[i].number == number) return &taken[i];
  return NULL;
}

static void forward(int number, siginfo_t* info, void* context) {
  const struct sigaction action = taken_of(number)->program;
  const bool is_of_instruction = info->si_code > 0; /* which is executed again when this handler returns */
  const bool is_fatal = (action.sa_flags & SA_SIGINFO) == 0 &&
                        (action.sa_handler == SIG_DFL ||
                         (action.sa_handler == SIG_IGN && is_of_instruction && number != own_signal));
  if (is_fatal) {
    struct sigaction usual;
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    find_sigaction()(number, &usual, NULL);
    const bool is_repeated = is_of_instruction && (number == SIGSEGV || number == SIGBUS);
    if (!is_repeated) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number); /* ends the program on return */
    return;
  }
  if ((action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN) return;
  if (number != own_signal && find_pthread_sigmask() != NULL) find_pthread_sigmask()(SIG_BLOCK, &action.sa_mask, NULL);
  if ((action.sa_flags & SA_SIGINFO) != 0)
    action.sa_sigaction(number, info, context);
  else
    action.sa_handler(number);
}

static void handle(int number, siginfo_t* info, void* context) {
  const int error = errno;
  const int of_perf_event = 6; /* TRAP_PERF */
  if ((info->si_code == SI_TIMER && info->si_value.sival_ptr == &mark) ||
      (number == SIGTRAP && info->si_code == of_perf_event))
    on_sample(info, context);
  else
    forward(number, info, context);
  errno = error;
}

/* A load whose fault is repaired: the handler lets it go on where it says that it has failed. */
extern const char kymo_loading[] KYMO_HIDDEN, kymo_not_loaded[] KYMO_HIDDEN;
#if defined(__x86_64__)
__asm__(
    ".text\n.globl kymo_load\n.hidden kymo_load\n.hidden kymo_loading\n.hidden kymo_not_loaded\n"
    ".type kymo_load, @function\nkymo_load:\n"
    ".globl kymo_loading\nkymo_loading: mov (%rdi), %rax\nmov %rax, (%rsi)\nmov $1, %eax\nret\n"
    ".globl kymo_not_loaded\nkymo_not_loaded: xor %eax, %eax\nret\n.size kymo_load, .-kymo_load\n");
#define KYMO_PC uc_mcontext.gregs[REG_RIP]
#elif defined(__aarch64__)
__asm__(
    ".text\n.globl kymo_load\n.hidden kymo_load\n.hidden kymo_loading\n.hidden kymo_not_loaded\n"
    ".type kymo_load, %function\nkymo_load:\n"
    ".globl kymo_loading\nkymo_loading: ldr x2, [x0]\nstr x2, [x1]\nmov w0, #1\nret\n"
    ".globl kymo_not_loaded\nkymo_not_loaded: mov w0, #0\nret\n.size kymo_load, .-kymo_load\n");
#define KYMO_PC uc_mcontext.pc
#endif

static void handle_fault(int number, siginfo_t* info, void* context) {
#if defined(KYMO_PC)
  ucontext_t* const at = context;
  if ((uintptr_t)at->KYMO_PC == (uintptr_t)kymo_loading) {
    at->KYMO_PC = (__typeof__(at->KYMO_PC))(uintptr_t)kymo_not_loaded;
    return;
  }
#endif
  forward(number, info, context);
}

static bool take(struct taken* signal, int number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  /* On the alternate stack, if the program has one: its own stacks may be too small. */
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  if (handler == handle) {
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, SIGSEGV); /* of a load that may fail */
    sigdelset(&action.sa_mask, SIGBUS);
  } else {
    action.sa_flags |= SA_NODEFER;
  }
  if (find_sigaction()(number, &action, &signal->program) != 0) return false;
  signal->number = number;
  return true;
}

bool kymo_install_handler(enum kymo_by by, void (*handler)(siginfo_t* info, void* context)) {
  if (find_sigaction() == NULL) return false;
  on_sample = handler;
  const int number = by == KYMO_BY_PERF ? SIGTRAP : SIGRTMAX - 6;
  if (!take(&taken[0], number, handle)) return false;
  own_signal = number;
  return true;
}

bool kymo_permit_loads(void) {
#if defined(KYMO_PC)
  return find_sigaction() != NULL && take(&taken[1], SIGSEGV, handle_fault) && take(&taken[2], SIGBUS, handle_fault);
#else
  return false;
#endif
}

bool kymo_may_load(const ucontext_t* at) {
  return sigismember(&at->uc_sigmask, SIGSEGV) != 1 && sigismember(&at->uc_sigmask, SIGBUS) != 1;
}

void kymo_unblock_own_signal(void) {
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, own_signal);
  if (find_pthread_sigmask() != NULL) find_pthread_sigmask()(SIG_UNBLOCK, &own, NULL);
}

/* ---- The functions of the C library ----------------------------------------------------------------------------- */

KYMO_EXPORT int sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  struct taken* const own = taken_of(number);
  if (own == NULL) return find_sigaction()(number, action, before);
  const struct sigaction old = own->program;
  if (action != NULL) own->program = *action;
  if (before != NULL) *before = old;
  return 0;
}

KYMO_EXPORT Handler signal(int number, Handler handler) {
  struct taken* const own = taken_of(number);
  if (own == NULL || handler == SIG_ERR) return find_signal()(number, handler);
  const Handler before = own->program.sa_handler;
  memset(&own->program, 0, sizeof own->program);
  own->program.sa_handler = handler;
  return before;
}

KYMO_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* before) {
  sigset_t copy;
  const bool wants_own = set != NULL && own_signal != 0 && sigismember(set, own_signal) == 1; /* `before` may be the same set */
  const int result = find_sigprocmask()(how, how == SIG_UNBLOCK ? set : without_own(set, &copy), before);
  return changed_mask(result, how, set, before, wants_own);
}

KYMO_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) {
  sigset_t copy;
  const bool wants_own = set != NULL && own_signal != 0 && sigismember(set, own_signal) == 1;
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
