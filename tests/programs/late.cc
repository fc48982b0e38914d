// Records at the end of threads and of the program: in thread-local destructors, in the destructors of pthread keys
// (one older and one newer than Kymo's), in atexit handlers and in static destructors.
#include <pthread.h>

#include <cstdlib>
#include <thread>

#include "kymo/annotate.h"

namespace {

struct RecordsAtItsEnd {
  explicit RecordsAtItsEnd(const char* name) : name_(name) {}
  ~RecordsAtItsEnd() {
    const kymo::Range range{name_};
    kymo::range_push("within");
    kymo::mark("last words");
    kymo::range_pop();
  }
  const char* name_;
};

RecordsAtItsEnd at_static_end("static destructor");
thread_local RecordsAtItsEnd at_thread_end("thread-local destructor");
pthread_key_t older, newer;

void make_older_key() {
  pthread_key_create(&older, [](void*) { const RecordsAtItsEnd now("older key"); });
}
// Runs before the constructors of shared libraries.
[[gnu::used, gnu::section(".preinit_array")]] void (*const before_all)() = make_older_key;

}  // namespace

int main() {
  pthread_key_create(&newer, [](void*) { const RecordsAtItsEnd now("newer key"); });
  std::atexit([] { const RecordsAtItsEnd now("atexit"); });
  for (int i = 0; i < 50; ++i) {
    std::thread([i] {
      pthread_setspecific(older, &older);
      pthread_setspecific(newer, &newer);
      if (i % 2 == 0) const kymo::Range range{"thread"};
      (void)at_thread_end.name_;
    }).join();
  }
  return at_thread_end.name_ == nullptr;
}
