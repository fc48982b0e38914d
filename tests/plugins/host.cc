// A program that knows nothing of Kymo and loads two plug-ins that do: plugin_host PLUGIN PLUGIN COUNT.
//
// Nests ranges of both in each other on several threads and checks that they agree on the depth. Then lets go of the
// first and uses the second alone.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "plugin_host: %s\n", what);
  std::abort();
}

struct Plugin {
  explicit Plugin(const char* path) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    expect(handle != nullptr, handle == nullptr ? dlerror() : "");
    push = reinterpret_cast<int (*)(const char*)>(dlsym(handle, "plugin_push"));
    pop = reinterpret_cast<int (*)()>(dlsym(handle, "plugin_pop"));
    is_recording = reinterpret_cast<int (*)()>(dlsym(handle, "plugin_is_recording"));
    call = reinterpret_cast<void (*)(void (*)())>(dlsym(handle, "plugin_call"));
  }
  void* handle;
  int (*push)(const char*);
  int (*pop)();
  int (*is_recording)();
  void (*call)(void (*)());
};

void nest(const Plugin& one, const Plugin& two, int count) {
  static thread_local const Plugin* inner;
  inner = &two;
  for (int i = 0; i < count; ++i) {
    expect(one.push("one") == 0 && two.push("two in one") == 1, "the depths do not agree");
    one.call([] { inner->call(nullptr); });
    expect(one.push("one again") == 2, "the depths do not agree");
    expect(two.pop() == 2 && one.pop() == 1 && two.pop() == 0, "the depths do not agree on the way back");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int count = std::atoi(argv[3]);
  const Plugin one(argv[1]), two(argv[2]);
  expect(one.is_recording() == two.is_recording(), "one records, the other does not");
  nest(one, two, count);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { nest(one, two, count); });
  for (auto& thread : threads) thread.join();

  expect(one.push("of a plug-in that is gone") == 0, "something is open");
  expect(one.pop() == 0, "something is open");
  dlclose(one.handle);
  for (int i = 0; i < count; ++i) expect(two.push("two alone") == 0 && two.pop() == 0, "the depth is wrong alone");
  return 0;
}
