// A trace that the program requests itself, and the data of libtorch in it.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "kymo/ondemand.h"
#include "readback.h"
#include "test_modules.h"

namespace kymo::libtorch::testing {

struct Asked {
  bool shapes = false, memory = false, stack = false, flops = false, modules = false;
};

// Records from construction until read().
class Recorded {
 public:
  explicit Recorded(const Asked& asked = {}, const std::string& name = "trace.kymo") : file_(name) {
    ondemand::prepare(asked.shapes, asked.memory, asked.stack, asked.flops, asked.modules);
    ondemand::start(file_.path());
  }
  ~Recorded() {
    if (!trace_) ondemand::stop();
  }

  const e2e::Readback& read() {
    if (trace_) return *trace_;
    ondemand::stop();
    trace_ = e2e::read_back(file_.path(), e2e::Detail::Arguments);
    EXPECT_TRUE(e2e::sound_and_complete(*trace_)) << trace_->summary();
    return *trace_;
  }

  const e2e::Event& only(const std::string& name) {
    const std::vector<const e2e::Event*> found = read().ranges_named(name);
    EXPECT_EQ(found.size(), 1u) << name;
    static const e2e::Event none;
    return found.empty() ? none : *found[0];
  }

  // The value of the field; empty: the event does not have it.
  std::optional<std::string> text(const e2e::Event& event, const std::string& field) {
    for (const e2e::Argument& argument : read().detail_of(event).arguments)
      if (argument.name == field) return argument.text;
    return std::nullopt;
  }
  std::optional<uint64_t> number(const e2e::Event& event, const std::string& field) {
    for (const e2e::Argument& argument : read().detail_of(event).arguments)
      if (argument.name == field) return argument.bits;
    return std::nullopt;
  }
  uint64_t thread_of(const e2e::Event& event) { return read().tracks[event.track].track.tid; }

  std::vector<const e2e::Event*> points(trace::PointKind kind) {
    std::vector<const e2e::Event*> found;
    for (const e2e::Event& point : read().points)
      if (point.kind == kind) found.push_back(&point);
    return found;
  }
  // The innermost range of its track around it; empty: none.
  std::string name_around(const e2e::Event& point) {
    const e2e::Event* innermost = nullptr;
    for (const e2e::Event& range : read().ranges)
      if (range.track == point.track && range.start <= point.start && point.start <= range.end &&
          (innermost == nullptr || range.depth > innermost->depth))
        innermost = &range;
    return innermost == nullptr ? "" : read().name_of(*innermost);
  }

 private:
  edge::testing::TemporaryFile file_;
  std::optional<e2e::Readback> trace_;
};

}  // namespace kymo::libtorch::testing
