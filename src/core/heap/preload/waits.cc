// libkymo_waits.so: the C library's functions that block. LD_PRELOAD puts them before the program's own.
//
// A call that takes at least kShortestNs becomes a range of its thread, of the category "wait":
//
//   "wait for mutex", "wait in read", …   {object, node, holder}
//
// The object is the address of the lock, or the number of the file. The node is the stack (heap_recorder.h). The holder
// is the id of the thread that held the lock when the wait began; 0: not known.
//
// No clock is read for a lock that is free. Each call is one of the C library's own functions, so cancellation, errors
// and errno are those of the program. Nothing is held during the call: a thread that is cancelled in it unwinds through
// these functions.
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "base/clock.h"
#include "heap/heap_recorder.h"
#include "heap/preload/recorded.h"
#include "record/clock.h"
#include "record/interfaces.h"
#include "record/store.h"

// Called by programs that are built with _FORTIFY_SOURCE. No header declares them without it.
extern "C" ssize_t __read_chk(int file, void* to, size_t bytes, size_t room);
extern "C" int __poll_chk(pollfd* files, nfds_t count, int timeout, size_t room);

namespace kymo::heap {
namespace {

constexpr uint64_t kShortestNs = 10'000, kNanosecondsPerSecond = 1'000'000'000;

// ---- The functions of the C library --------------------------------------------------------------------------------

struct Named {
  const char* name;
  const char* version;
  std::atomic<void*> found{nullptr};

  void* find() noexcept {
    const int error = errno;
    void* function = version != nullptr ? dlvsym(RTLD_NEXT, name, version) : nullptr;
    if (function == nullptr) function = dlsym(RTLD_NEXT, name);
    found.store(function, std::memory_order_relaxed);
    errno = error;
    return function;
  }
};

template <class Function>
struct Next;
template <class Result, class... Parameters>
struct Next<Result(Parameters...)> : Named {
  constexpr explicit Next(const char* of_name, const char* of_version = nullptr) : Named{of_name, of_version} {}
  __attribute__((always_inline)) Result operator()(Parameters... parameters) {
    void* const function = found.load(std::memory_order_relaxed);
    if (__builtin_expect(function == nullptr, 0)) return first(parameters...);
    return reinterpret_cast<Result (*)(Parameters...)>(function)(parameters...);
  }
  // Before our initialization. A function of its own, so that the fast case is only a jump.
  __attribute__((noinline)) Result first(Parameters... parameters) {
    return reinterpret_cast<Result (*)(Parameters...)>(find())(parameters...);
  }
};

// The versions of condition variables that all programs of the last twenty years use.
#if defined(__x86_64__)
constexpr const char* kConditions = "GLIBC_2.3.2";
#else
constexpr const char* kConditions = "GLIBC_2.17";
#endif

using Mutex = pthread_mutex_t;
using ReadWriteLock = pthread_rwlock_t;
using Condition = pthread_cond_t;
using Time = const timespec;

constinit Next<int(Mutex*)> next_mutex_lock{"pthread_mutex_lock"}, next_mutex_trylock{"pthread_mutex_trylock"};
// For a mutex that is free: the C library's own function, one that finds it, or try_mutex_first().
int find_mutex_lock(Mutex* lock) noexcept { return next_mutex_lock(lock); }
int try_mutex_first(Mutex* lock) noexcept;
constinit std::atomic<int (*)(Mutex*) noexcept> free_mutex_lock{find_mutex_lock};
void call_mutex_lock_directly() noexcept {
  free_mutex_lock.store(reinterpret_cast<int (*)(Mutex*) noexcept>(next_mutex_lock.found.load()),
                        std::memory_order_relaxed);
}
constinit Next<int(Mutex*, Time*)> next_mutex_timedlock{"pthread_mutex_timedlock"};
constinit Next<int(Mutex*, clockid_t, Time*)> next_mutex_clocklock{"pthread_mutex_clocklock"};
constinit Next<int(ReadWriteLock*)> next_rdlock{"pthread_rwlock_rdlock"}, next_tryrdlock{"pthread_rwlock_tryrdlock"},
    next_wrlock{"pthread_rwlock_wrlock"}, next_trywrlock{"pthread_rwlock_trywrlock"};
constinit Next<int(ReadWriteLock*, Time*)> next_timedrdlock{"pthread_rwlock_timedrdlock"},
    next_timedwrlock{"pthread_rwlock_timedwrlock"};
constinit Next<int(ReadWriteLock*, clockid_t, Time*)> next_clockrdlock{"pthread_rwlock_clockrdlock"},
    next_clockwrlock{"pthread_rwlock_clockwrlock"};
constinit Next<int(Condition*, Mutex*)> next_cond_wait{"pthread_cond_wait", kConditions};
constinit Next<int(Condition*, Mutex*, Time*)> next_cond_timedwait{"pthread_cond_timedwait", kConditions};
constinit Next<int(Condition*, Mutex*, clockid_t, Time*)> next_cond_clockwait{"pthread_cond_clockwait"};
constinit Next<int(pthread_t, void**)> next_join{"pthread_join"};
constinit Next<int(sem_t*)> next_sem_wait{"sem_wait"}, next_sem_trywait{"sem_trywait"};
constinit Next<int(sem_t*, Time*)> next_sem_timedwait{"sem_timedwait"};
constinit Next<int(sem_t*, clockid_t, Time*)> next_sem_clockwait{"sem_clockwait"};
constinit Next<unsigned(unsigned)> next_sleep{"sleep"};
constinit Next<int(useconds_t)> next_usleep{"usleep"};
constinit Next<int(Time*, timespec*)> next_nanosleep{"nanosleep"};
constinit Next<int(clockid_t, int, Time*, timespec*)> next_clock_nanosleep{"clock_nanosleep"};
constinit Next<int(pollfd*, nfds_t, int)> next_poll{"poll"};
constinit Next<int(pollfd*, nfds_t, int, size_t)> next_poll_chk{"__poll_chk"};
constinit Next<int(pollfd*, nfds_t, Time*, const sigset_t*)> next_ppoll{"ppoll"};
constinit Next<int(int, fd_set*, fd_set*, fd_set*, timeval*)> next_select{"select"};
constinit Next<int(int, fd_set*, fd_set*, fd_set*, Time*, const sigset_t*)> next_pselect{"pselect"};
constinit Next<int(int, epoll_event*, int, int)> next_epoll_wait{"epoll_wait"};
constinit Next<int(int, epoll_event*, int, int, const sigset_t*)> next_epoll_pwait{"epoll_pwait"};
constinit Next<ssize_t(int, void*, size_t)> next_read{"read"};
constinit Next<ssize_t(int, void*, size_t, size_t)> next_read_chk{"__read_chk"};
constinit Next<ssize_t(int, const void*, size_t)> next_write{"write"};
constinit Next<int(int)> next_fsync{"fsync"}, next_fdatasync{"fdatasync"};
constinit Next<int(int, const sockaddr*, socklen_t)> next_connect{"connect"};
constinit Next<int(int, sockaddr*, socklen_t*)> next_accept{"accept"};
constinit Next<int(int, sockaddr*, socklen_t*, int)> next_accept4{"accept4"};

// ---- Records -------------------------------------------------------------------------------------------------------

template <size_t kBytes>
constexpr kymo_site site(const char (&name)[kBytes]) {
  return {{name, "wait", kBytes - 1, 4, 0}, {}};
}
constinit kymo_site mutex_site = site("wait for mutex"), read_lock_site = site("wait for read lock"),
                    write_lock_site = site("wait for write lock"), condition_site = site("wait for condition"),
                    semaphore_site = site("wait for semaphore"), join_site = site("wait for thread"),
                    sleep_site = site("wait in sleep"), poll_site = site("wait in poll"),
                    select_site = site("wait in select"), epoll_site = site("wait in epoll"),
                    read_site = site("wait in read"), write_site = site("wait in write"),
                    sync_site = site("wait in fsync"), connect_site = site("wait in connect"),
                    accept_site = site("wait in accept");

constexpr kymo_arg field(const char* name, kymo_type type) { return {name, {}, 0, static_cast<uint32_t>(type)}; }
constexpr kymo_arg kObjectFields[] = {field("object", KYMO_POINTER), field("node", KYMO_UINT),
                                      field("holder", KYMO_UINT)};

// How long a wait must be. The rate of a processor's counter may not be known before some time has passed: until then
// it counts as the slowest one.
constexpr uint64_t kWaitsPerSecond = kNanosecondsPerSecond / kShortestNs, kSlowestPerSecond = 1'000'000'000;
constinit std::atomic<uint64_t> shortest_ticks{kSlowestPerSecond / kWaitsPerSecond};
constinit std::atomic<bool> is_rate_known{false};
constinit uint64_t first_ticks = 0, first_ns = 0;

void set_rate(uint64_t per_second) noexcept {
  shortest_ticks.store(per_second / kWaitsPerSecond, std::memory_order_relaxed);
  is_rate_known.store(true, std::memory_order_relaxed);
}

void learn_rate() noexcept {
  constexpr uint64_t kEnoughNs = 10'000'000;
  const uint64_t ticks = record::ticks() - first_ticks, ns = base::monotonic_ns() - first_ns;
  if (ns < kEnoughNs) return;
  set_rate(static_cast<uint64_t>(static_cast<double>(ticks) * kNanosecondsPerSecond / static_cast<double>(ns)));
}

// A signal handler must not be the first one to look up a function.
__attribute__((constructor(102))) void begin_waits() noexcept {
  Named* const all[] = {&next_mutex_lock,
                        &next_tryrdlock,
                        &next_mutex_trylock,
                        &next_trywrlock,
                        &next_mutex_timedlock,
                        &next_mutex_clocklock,
                        &next_rdlock,
                        &next_wrlock,
                        &next_timedrdlock,
                        &next_timedwrlock,
                        &next_clockrdlock,
                        &next_clockwrlock,
                        &next_cond_wait,
                        &next_cond_timedwait,
                        &next_cond_clockwait,
                        &next_join,
                        &next_sem_wait,
                        &next_sem_trywait,
                        &next_sem_timedwait,
                        &next_sem_clockwait,
                        &next_sleep,
                        &next_usleep,
                        &next_nanosleep,
                        &next_clock_nanosleep,
                        &next_poll,
                        &next_poll_chk,
                        &next_ppoll,
                        &next_select,
                        &next_pselect,
                        &next_epoll_wait,
                        &next_epoll_pwait,
                        &next_read,
                        &next_read_chk,
                        &next_write,
                        &next_fsync,
                        &next_fdatasync,
                        &next_connect,
                        &next_accept,
                        &next_accept4};
  for (Named* const one : all) one->find();
  call_mutex_lock_directly();
  record::init_clock();
  first_ticks = record::ticks();
  first_ns = base::monotonic_ns();
  if (const uint64_t per_second = record::tick_source().per_second; per_second != 0) set_rate(per_second);
}

struct Wait {
  kymo_site& site;
  uint64_t object;
  uint64_t holder = 0;
  uint64_t start = record::ticks();
  unwind::Node node = 0;

  // "wait for …", not "wait in …": only another thread can end it.
  bool is_for_thread() const noexcept { return site.label.name[5] == 'f'; }

  bool is_long() const noexcept { return record::ticks() - start >= shortest_ticks.load(std::memory_order_relaxed); }
};

void store_wait(void* context, unwind::Node node) noexcept {
  const auto& wait = *static_cast<const Wait*>(context);
  const record::FoundClass found = record::class_at(wait.site, kObjectFields, sizeof kObjectFields / sizeof(kymo_arg));
  if (found.name_inline) return record::add_interface(record::Interface::Waits, 0, 1, 0);
  record::set_interface(found.id, record::Interface::Waits);
  const uint64_t words[6] = {wait.start, 0, wait.object, node, wait.holder, 0};
  record::store_record(record::Kind::Span, found.id, words);
}

// Recording makes system calls, which must neither end the thread nor change its errno.
__attribute__((noinline)) void record_wait(Wait& wait, const unwind::Registers& caller,
                                           void (*store)(void*, unwind::Node) noexcept = store_wait) noexcept {
  const int error = errno;
  int before = PTHREAD_CANCEL_ENABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  if (!is_rate_known.load(std::memory_order_relaxed)) learn_rate();
  record_with_stack(caller, store, &wait);
  pthread_setcancelstate(before, nullptr);
  errno = error;
}

// A wait may never end: what is known of it is in the slot of the thread until it ends. Most calls that wait for time
// or files do not block, so only those that wait for a thread have their stack there.
void keep_node(void* context, unwind::Node node) noexcept { static_cast<Wait*>(context)->node = node; }

inline void begin_wait(const Wait& wait) noexcept {
  if (record::page_of_this_thread() == nullptr) return;
  const record::FoundClass found = record::class_at(wait.site, kObjectFields, sizeof kObjectFields / sizeof(kymo_arg));
  if (!found.name_inline) record::state_wait(found.id, {wait.start, wait.object, wait.node, wait.holder});
}

uint64_t object_of(const volatile void* object) noexcept { return reinterpret_cast<uintptr_t>(object); }
uint64_t object_of(int file) noexcept { return static_cast<uint64_t>(static_cast<unsigned>(file)); }

// The fields of locks are a part of the C library's binary interface.
inline unsigned field_of(const unsigned& field) noexcept { return __atomic_load_n(&field, __ATOMIC_RELAXED); }
inline unsigned field_of(const int& field) noexcept {
  return static_cast<unsigned>(__atomic_load_n(&field, __ATOMIC_RELAXED));
}

// 0: the C library's own function need not wait. The lock word of a mutex, which the last release has just written with
// an atomic operation, takes 3 ns longer to read than its owner.
inline unsigned use_of(Mutex* lock) noexcept { return field_of(lock->__data.__owner); }
inline unsigned use_of_readers(ReadWriteLock* lock) noexcept {
  return field_of(lock->__data.__cur_writer) | field_of(lock->__data.__writers);
}
inline unsigned use_of_writers(ReadWriteLock*) noexcept { return 1; }  // not known

// The id of the thread that holds a lock.
uint64_t holder_of(Mutex* lock) noexcept { return field_of(lock->__data.__owner); }
uint64_t holder_of(ReadWriteLock* lock) noexcept { return field_of(lock->__data.__cur_writer); }

// The rest of a function: the call, and its record if it took long. The caller's registers are those of the function,
// so this cannot be a function of its own. No destructors, because a thread that is cancelled passes them by.
#define KYMO_WAIT(call, ...)                                                       \
  Wait wait{__VA_ARGS__};                                                          \
  if (wait.is_for_thread()) record_wait(wait, KYMO_CALLER_REGISTERS(), keep_node); \
  begin_wait(wait);                                                                \
  const auto result = call;                                                        \
  record::wait_ended();                                                            \
  if (wait.is_long()) record_wait(wait, KYMO_CALLER_REGISTERS());                  \
  return result

// Reached by a jump, so that its caller is the program.
template <auto& kNext, kymo_site& kSite, class Lock, class... Limit>
KYMO_RECORDED int blocked(Lock* lock, Limit... limit) noexcept {
  KYMO_WAIT(kNext(lock, limit...), kSite, object_of(lock), holder_of(lock));
}

template <auto& kNext, auto& kTry, kymo_site& kSite, class Lock, class... Limit>
KYMO_RECORDED int try_first(Lock* lock, Limit... limit) noexcept {
  if (!record::recording()) return kNext(lock, limit...);
  const int result = kTry(lock);
  if (__builtin_expect(result != EBUSY, 1)) return result;
  if constexpr (std::is_same_v<Lock, Mutex>)
    if (free_mutex_lock.load(std::memory_order_relaxed) != try_mutex_first)
      free_mutex_lock.store(try_mutex_first, std::memory_order_relaxed);
  return blocked<kNext, kSite>(lock, limit...);
}

// Where threads hand over a mutex again and again, one often finds it free just when another one takes it. So after a
// mutex was not free, all are tried first, until a thread has called this so often.
__attribute__((noinline)) int try_mutex_first(Mutex* lock) noexcept {
  constexpr uint32_t kOften = 100'000;
  static thread_local constinit uint32_t calls __attribute__((tls_model("initial-exec"))) = 0;
  if (++calls % kOften == 0) call_mutex_lock_directly();
  return try_first<next_mutex_lock, next_mutex_trylock, mutex_site>(lock);
}

// A lock that is free costs a few instructions more, and no clock is read. If another thread takes one at the very
// moment at which it is found to be free, the wait is not recorded.
template <auto& kNext, auto kUse, auto& kTry, kymo_site& kSite, class Lock, class... Limit>
__attribute__((always_inline)) inline int acquire(Lock* lock, Limit... limit) noexcept {
  if (kUse(lock) == 0) return kNext(lock, limit...);
  return try_first<kNext, kTry, kSite>(lock, limit...);
}

template <auto& kNext, class... Limit>
KYMO_RECORDED int blocked_semaphore(sem_t* semaphore, int error, Limit... limit) {
  errno = error;
  KYMO_WAIT(kNext(semaphore, limit...), semaphore_site, object_of(semaphore));
}

template <auto& kNext, class... Limit>
__attribute__((always_inline)) inline int acquire_semaphore(sem_t* semaphore, Limit... limit) {
  if (!record::recording()) return kNext(semaphore, limit...);
  const int error = errno;
  pthread_testcancel();
  if (next_sem_trywait(semaphore) == 0) return 0;
  return blocked_semaphore<kNext>(semaphore, error, limit...);
}

}  // namespace
}  // namespace kymo::heap

using namespace kymo;
using namespace kymo::heap;

#define KYMO_WAIT_IF_RECORDED(call, ...) \
  if (!record::recording()) return call; \
  KYMO_WAIT(call, __VA_ARGS__)

// ---- Locks ---------------------------------------------------------------------------------------------------------

KYMO_EXPORTED int pthread_mutex_lock(Mutex* lock) noexcept {
  // As acquire(), with one branch. A second one costs 2 ns, right after the atomic operation of the last release.
  if (use_of(lock) == 0) return free_mutex_lock.load(std::memory_order_relaxed)(lock);
  return try_first<next_mutex_lock, next_mutex_trylock, mutex_site>(lock);
}
KYMO_EXPORTED int pthread_mutex_timedlock(Mutex* lock, Time* until) noexcept {
  return acquire<next_mutex_timedlock, use_of, next_mutex_trylock, mutex_site>(lock, until);
}
KYMO_EXPORTED int pthread_mutex_clocklock(Mutex* lock, clockid_t clock, Time* until) noexcept {
  return acquire<next_mutex_clocklock, use_of, next_mutex_trylock, mutex_site>(lock, clock, until);
}
KYMO_EXPORTED int pthread_rwlock_rdlock(ReadWriteLock* lock) noexcept {
  return acquire<next_rdlock, use_of_readers, next_tryrdlock, read_lock_site>(lock);
}
KYMO_EXPORTED int pthread_rwlock_timedrdlock(ReadWriteLock* lock, Time* until) noexcept {
  return acquire<next_timedrdlock, use_of_readers, next_tryrdlock, read_lock_site>(lock, until);
}
KYMO_EXPORTED int pthread_rwlock_clockrdlock(ReadWriteLock* lock, clockid_t clock, Time* until) noexcept {
  return acquire<next_clockrdlock, use_of_readers, next_tryrdlock, read_lock_site>(lock, clock, until);
}
KYMO_EXPORTED int pthread_rwlock_wrlock(ReadWriteLock* lock) noexcept {
  return acquire<next_wrlock, use_of_writers, next_trywrlock, write_lock_site>(lock);
}
KYMO_EXPORTED int pthread_rwlock_timedwrlock(ReadWriteLock* lock, Time* until) noexcept {
  return acquire<next_timedwrlock, use_of_writers, next_trywrlock, write_lock_site>(lock, until);
}
KYMO_EXPORTED int pthread_rwlock_clockwrlock(ReadWriteLock* lock, clockid_t clock, Time* until) noexcept {
  return acquire<next_clockwrlock, use_of_writers, next_trywrlock, write_lock_site>(lock, clock, until);
}
KYMO_EXPORTED int sem_wait(sem_t* semaphore) { return acquire_semaphore<next_sem_wait>(semaphore); }
KYMO_EXPORTED int sem_timedwait(sem_t* semaphore, Time* until) {
  return acquire_semaphore<next_sem_timedwait>(semaphore, until);
}
KYMO_EXPORTED int sem_clockwait(sem_t* semaphore, clockid_t clock, Time* until) {
  return acquire_semaphore<next_sem_clockwait>(semaphore, clock, until);
}

// ---- Other threads -------------------------------------------------------------------------------------------------

KYMO_EXPORTED int pthread_cond_wait(Condition* condition, Mutex* lock) {
  KYMO_WAIT_IF_RECORDED(next_cond_wait(condition, lock), condition_site, object_of(condition));
}
KYMO_EXPORTED int pthread_cond_timedwait(Condition* condition, Mutex* lock, Time* until) {
  KYMO_WAIT_IF_RECORDED(next_cond_timedwait(condition, lock, until), condition_site, object_of(condition));
}
KYMO_EXPORTED int pthread_cond_clockwait(Condition* condition, Mutex* lock, clockid_t clock, Time* until) {
  KYMO_WAIT_IF_RECORDED(next_cond_clockwait(condition, lock, clock, until), condition_site, object_of(condition));
}
KYMO_EXPORTED int pthread_join(pthread_t thread, void** into) {
  KYMO_WAIT_IF_RECORDED(next_join(thread, into), join_site, thread);
}

// ---- Time and files ------------------------------------------------------------------------------------------------

KYMO_EXPORTED unsigned sleep(unsigned seconds) { KYMO_WAIT_IF_RECORDED(next_sleep(seconds), sleep_site, 0); }
KYMO_EXPORTED int usleep(useconds_t time) { KYMO_WAIT_IF_RECORDED(next_usleep(time), sleep_site, 0); }
KYMO_EXPORTED int nanosleep(Time* time, timespec* left) {
  KYMO_WAIT_IF_RECORDED(next_nanosleep(time, left), sleep_site, 0);
}
KYMO_EXPORTED int clock_nanosleep(clockid_t clock, int flags, Time* time, timespec* left) {
  KYMO_WAIT_IF_RECORDED(next_clock_nanosleep(clock, flags, time, left), sleep_site, 0);
}
KYMO_EXPORTED int poll(pollfd* files, nfds_t count, int timeout) {
  KYMO_WAIT_IF_RECORDED(next_poll(files, count, timeout), poll_site, 0);
}
KYMO_EXPORTED int __poll_chk(pollfd* files, nfds_t count, int timeout, size_t room) {
  KYMO_WAIT_IF_RECORDED(next_poll_chk(files, count, timeout, room), poll_site, 0);
}
KYMO_EXPORTED int ppoll(pollfd* files, nfds_t count, Time* timeout, const sigset_t* mask) {
  KYMO_WAIT_IF_RECORDED(next_ppoll(files, count, timeout, mask), poll_site, 0);
}
KYMO_EXPORTED int select(int count, fd_set* to_read, fd_set* to_write, fd_set* others, timeval* timeout) {
  KYMO_WAIT_IF_RECORDED(next_select(count, to_read, to_write, others, timeout), select_site, 0);
}
KYMO_EXPORTED int pselect(int count, fd_set* to_read, fd_set* to_write, fd_set* others, Time* timeout,
                          const sigset_t* mask) {
  KYMO_WAIT_IF_RECORDED(next_pselect(count, to_read, to_write, others, timeout, mask), select_site, 0);
}
KYMO_EXPORTED int epoll_wait(int file, epoll_event* events, int count, int timeout) {
  KYMO_WAIT_IF_RECORDED(next_epoll_wait(file, events, count, timeout), epoll_site, object_of(file));
}
KYMO_EXPORTED int epoll_pwait(int file, epoll_event* events, int count, int timeout, const sigset_t* mask) {
  KYMO_WAIT_IF_RECORDED(next_epoll_pwait(file, events, count, timeout, mask), epoll_site, object_of(file));
}
KYMO_EXPORTED ssize_t read(int file, void* to, size_t bytes) {
  KYMO_WAIT_IF_RECORDED(next_read(file, to, bytes), read_site, object_of(file));
}
KYMO_EXPORTED ssize_t __read_chk(int file, void* to, size_t bytes, size_t room) {
  KYMO_WAIT_IF_RECORDED(next_read_chk(file, to, bytes, room), read_site, object_of(file));
}
KYMO_EXPORTED ssize_t write(int file, const void* from, size_t bytes) {
  KYMO_WAIT_IF_RECORDED(next_write(file, from, bytes), write_site, object_of(file));
}
KYMO_EXPORTED int fsync(int file) { KYMO_WAIT_IF_RECORDED(next_fsync(file), sync_site, object_of(file)); }
KYMO_EXPORTED int fdatasync(int file) { KYMO_WAIT_IF_RECORDED(next_fdatasync(file), sync_site, object_of(file)); }
KYMO_EXPORTED int connect(int file, const sockaddr* to, socklen_t bytes) {
  KYMO_WAIT_IF_RECORDED(next_connect(file, to, bytes), connect_site, object_of(file));
}
KYMO_EXPORTED int accept(int file, sockaddr* from, socklen_t* bytes) {
  KYMO_WAIT_IF_RECORDED(next_accept(file, from, bytes), accept_site, object_of(file));
}
KYMO_EXPORTED int accept4(int file, sockaddr* from, socklen_t* bytes, int flags) {
  KYMO_WAIT_IF_RECORDED(next_accept4(file, from, bytes, flags), accept_site, object_of(file));
}
