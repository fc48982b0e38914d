// Records everything that can be recorded: contents WHAT.
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "kymo/annotate.h"

namespace {

// More names than the registry has space for, and then names with categories, for which it has no space either.
void names() {
  for (int i = 0; i < 100000; ++i) {
    const kymo::Range range{"name " + std::to_string(i)};
    if (i % 1000 == 0) kymo::mark("mark " + std::to_string(i), i);
  }
  for (int i = 0; i < 400; ++i) {
    const std::string category = "category " + std::to_string(i);
    const kymo::Range range{kymo::Label("late name " + std::to_string(i), category)};
  }
}

void long_texts() {
  const std::string megabyte(1 << 20, 'n');
  for (int i = 0; i < 10; ++i) {
    const kymo::Range range{kymo::Label(megabyte)};
    kymo::mark("text", kymo::arg("long", megabyte), kymo::arg("after", 7));
  }
  const std::string longest_name(1024, 'x'), longer_name(1025, 'y');
  const kymo::Range kept{kymo::Label(longest_name)}, carried{kymo::Label(longer_name)};
}

// More arguments than an event keeps.
void many_arguments() {
  std::array<std::string, 40> texts;
  std::array<kymo_arg, 40> arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    texts[i] = "argument " + std::to_string(i);
    arguments[i] = kymo::arg(texts[i].c_str(), i);
  }
  const kymo::Label few("few"), many("many");
  kymo_range_push_label(&few, arguments.data(), 20);
  kymo_range_push_label(&many, arguments.data(), arguments.size());
  kymo_range_pop();
  kymo_range_pop();
}

enum class Colour : uint8_t { Red = 200 };

void types() {
  const char* text = "text";
  int place = 0;
  kymo::mark("types", kymo::arg("int", -5), kymo::arg("long", int64_t{-1} << 62), kymo::arg("unsigned", ~uint64_t{0}),
             kymo::arg("char", 'c'), kymo::arg("double", 0.1), kymo::arg("float", 0.5f), kymo::arg("text", text),
             kymo::arg("string", std::string("a\0b", 3)), kymo::arg("empty", ""), kymo::bytes("bytes", 4096),
             kymo::arg("pointer", &place), kymo::arg("yes", true), kymo::arg("no", false),
             kymo::arg("enum", Colour::Red));
  kymo::mark("types again", kymo::arg("pointer", static_cast<void*>(&place)));
  for (int i = 0; i < 3; ++i) {
    KYMO_RANGE("step {} of {}: {}", i, 3u, "ok", kymo::arg("extra", i * 1.5));
  }
  kymo::mark("{} and {} and {}", 1);  // fewer arguments than placeholders
  kymo::mark("one {}", 1, 2);         // more
  { const kymo::Range coloured{kymo::Label("coloured", "a category", kymo::colour::kTeal)}; }
  { const kymo::Range coloured{kymo::Label("coloured", "another category")}; }
  kymo::ranged("called", [](int n) { return n + 1; })(1);
}

void moments() {
  kymo::set_thread_name("the main thread, whose name is much too long to be kept");
  for (int i = 0; i < 100; ++i) {
    kymo::counter("queue", i - 50);
    kymo::counter("load", i / 8.0);
    kymo::counter("size", static_cast<uint64_t>(i) << 40);
  }
  std::thread([] {
    kymo::set_thread_name("first");
    KYMO_RANGE("step");
    kymo::flow_step("request", 42);
    kymo::set_thread_name("renamed");
  }).join();
  {
    KYMO_RANGE("begin");
    kymo::flow_begin("request", 42);
  }
  KYMO_RANGE("end");
  kymo::flow_end("request", 42);
}

// Ranges that end on another thread than they started on.
void across_threads() {
  std::vector<kymo::RangeId> ids(3000);
  std::thread([&] {
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = kymo::range_start("across {}", i);
  }).join();
  std::vector<std::thread> threads;
  for (size_t k = 0; k < 3; ++k)
    threads.emplace_back([&ids, k] {
      for (size_t i = k; i < ids.size(); i += 3) kymo::range_end(ids[i]);
    });
  for (auto& thread : threads) thread.join();
}

// Invalid calls, which must be counted: 3 extra ends, 2 ends of unknown handles, 5 extra pops.
void mistakes() {
  const auto id = kymo::range_start("once");
  for (int i = 0; i < 4; ++i) kymo::range_end(id);
  kymo::range_end(kymo::RangeId{0});
  kymo::range_end(kymo::RangeId{uint64_t{1} << 50 | 1});
  for (int i = 0; i < 5; ++i)
    if (kymo::range_pop() != -1) std::abort();
  { KYMO_RANGE("fine"); }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  if (what == "names") return names(), 0;
  if (what == "long") return long_texts(), 0;
  if (what == "arguments") return many_arguments(), 0;
  if (what == "types") return types(), 0;
  if (what == "moments") return moments(), 0;
  if (what == "across") return across_threads(), 0;
  if (what == "mistakes") return mistakes(), 0;
  return 2;
}
