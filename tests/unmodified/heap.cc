// A program that does not use Kymo and allocates what its arguments say. It prints where its functions are, one "name
// address" a line, so that a test can find them in stacks.
//
//   heap HOW [COUNT] [FILE]
#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../counts.h"

// Functions that stay what they are, so that a stack's addresses lie in them.
#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

namespace {

// Sizes by which a test knows whose an allocation is: nothing else here allocates so much of these.
constexpr size_t kEarly = 70'001, kApple = 70'003, kPear = 70'009, kPlum = 70'019, kCalloc = 70'020, kAligned = 80'064;

void keep(void* memory) { asm volatile("" ::"r"(memory) : "memory"); }

void* early = std::malloc(kEarly);  // before main

NOINLINE void* apple() {
  void* made = std::malloc(kApple);
  keep(made);
  return made;
}
NOINLINE void* pear() {
  void* made = ::operator new(kPear);
  keep(made);
  return made;
}
NOINLINE void* plum() {
  void* made = std::malloc(kPlum);
  keep(made);
  return made;
}
NOINLINE void* basket(unsigned which) {
  void* made = which % 3 == 0 ? apple() : which % 3 == 1 ? pear() : plum();
  keep(made);
  return made;
}
NOINLINE void picker(unsigned count) {
  std::vector<void*> kept;
  kept.reserve(count);
  for (unsigned i = 0; i < count; ++i) kept.push_back(basket(i));
  for (unsigned i = 0; i < count; ++i) {
    if (i % 3 == 1)
      ::operator delete(kept[i]);
    else if (i % 3 == 2)
      std::free(kept[i]);  // the apples stay
  }
}

// realloc in all its ways: from nothing, larger, smaller, in vain, to nothing.
NOINLINE void grower(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    void* memory = std::realloc(nullptr, 100);
    for (size_t bytes = 200; bytes < 100'000; bytes *= 3) memory = std::realloc(memory, bytes);
    memory = std::realloc(memory, 50);
    volatile size_t too_much = SIZE_MAX / 4;
    if (std::realloc(memory, too_much) != nullptr) std::abort();
    volatile size_t too_many = SIZE_MAX / 2;
    if (::reallocarray(memory, too_many, 4) != nullptr) std::abort();
    memory = ::reallocarray(memory, 10, 7);
    std::free(memory);
  }
}

NOINLINE void all_ways() {
  void* memory = std::calloc(2, kCalloc / 2);
  keep(memory);
  std::free(memory);
  if (posix_memalign(&memory, 64, kAligned) != 0) std::abort();
  std::free(memory);
  memory = std::aligned_alloc(64, kAligned);
  keep(memory);
  std::free(memory);
  memory = memalign(64, kAligned);
  keep(memory);
  std::free(memory);
  memory = valloc(kAligned);
  keep(memory);
  std::free(memory);
  memory = pvalloc(kAligned);
  keep(memory);
  std::free(memory);
  if (posix_memalign(&memory, 3, 8) == 0) std::abort();
}

jmp_buf back;
NOINLINE void leave(unsigned how) {
  keep(apple());
  if (how % 2 == 0) longjmp(back, 1);
  throw std::runtime_error("out");
}
NOINLINE void leaver(unsigned count) {
  for (volatile unsigned i = 0; i < count;) {
    if (setjmp(back) == 0) {
      const unsigned now = i;
      i = now + 1;
      try {
        leave(now);
      } catch (const std::runtime_error&) {
        keep(pear());
      }
    } else {
      keep(plum());
    }
  }
}

void on_signal(int) { std::free(apple()); }  // which no program may, and many do

// Handlers run on a thread that is in no allocator, which would not take it, while this one is busy with its heap.
void signals(unsigned count) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  std::atomic<bool> started{false}, done{false};
  std::thread other([&] {
    started = true;
    while (!done) usleep(50);
  });
  while (!started) usleep(50);
  for (unsigned i = 0; i < count; ++i) {
    pthread_kill(other.native_handle(), SIGUSR1);
    std::free(plum());
    usleep(100);
  }
  done = true;
  other.join();
}

void endless(const char* file) {
  kymo::e2e::Counts* counts = kymo::e2e::map_counts(file);
  counts->pid = static_cast<uint32_t>(getpid());
  for (;;) {
    std::free(apple());
    counts->done[0].fetch_add(1, std::memory_order_release);
    if (counts->done[0] > 200'000) usleep(10'000);
  }
}

void forks(unsigned count) {
  picker(count);
  const pid_t child = fork();
  if (child == 0) {
    picker(2 * count);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const std::string command = "exit 0";
  if (std::system(command.c_str()) != 0) std::abort();
  picker(count);
}

void switched(unsigned count) {
  const auto record = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "kymo_malloc_record"));
  if (record == nullptr) std::abort();
  for (unsigned i = 0; i < count; ++i) std::free(apple());
  record(0);
  for (unsigned i = 0; i < count; ++i) std::free(pear());
  record(1);
  for (unsigned i = 0; i < count; ++i) std::free(plum());
}

// A stack that no thread was given, and threads with the least stack there is.
ucontext_t outside, inside;
void on_fiber() {
  for (;;) {
    std::free(pear());
    swapcontext(&inside, &outside);
  }
}
void fibers(unsigned count) {
  std::vector<char> stack(1 << 16);
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack.data();
  inside.uc_stack.ss_size = stack.size();
  makecontext(&inside, on_fiber, 0);
  for (unsigned i = 0; i < count; ++i) {
    std::free(apple());
    swapcontext(&outside, &inside);
  }
}
void small_stacks(unsigned count) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
  for (unsigned i = 0; i < count; ++i) {
    pthread_t thread;
    const auto run = [](void*) -> void* {
      std::free(plum());
      return nullptr;
    };
    if (pthread_create(&thread, &attributes, run, nullptr) != 0) std::abort();
    pthread_join(thread, nullptr);
  }
}

void loads(const char* file, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::abort();
    std::free(apple());
    dlclose(library);
    std::free(plum());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "known";
  const auto count = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 30u;
  const auto say = [](const char* name, auto* function) {
    std::printf("%s %p\n", name, reinterpret_cast<void*>(function));
  };
  say("apple", apple);
  say("pear", pear);
  say("plum", plum);
  say("basket", basket);
  say("picker", picker);
  say("leave", leave);
  say("leaver", leaver);
  say("grower", grower);
  std::fflush(stdout);

  if (how == "known") picker(count);
  if (how == "threads") {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(picker, count);
    for (auto& thread : threads) thread.join();
  }
  if (how == "many-threads")
    for (unsigned i = 0; i < count; ++i) std::thread(picker, 3).join();
  if (how == "grow") grower(count);
  if (how == "all") all_ways();
  if (how == "leave") leaver(count);
  if (how == "signals") signals(count);
  if (how == "endless") endless(argv[3]);
  if (how == "forks") forks(count);
  if (how == "switched") switched(count);
  if (how == "fibers") fibers(count);
  if (how == "small-stacks") small_stacks(count);
  if (how == "loads") loads(argv[3], count);
  std::free(early);
}
