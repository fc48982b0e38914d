// Sinks that store what they receive, for tests.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kymo/sink_calls.h"
#include "record/process.h"
#include "record/sinks.h"

namespace kymo::record {

// What a sink received, by thread.
class ReceivedLines {
 public:
  void add(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_[std::this_thread::get_id()].push_back(std::move(line));
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::move(lines_[std::this_thread::get_id()]);
  }

 private:
  std::mutex mutex_;
  std::map<std::thread::id, std::vector<std::string>> lines_;
};

template <int kNumber>
struct TestSink {
  static inline ReceivedLines received;
  static inline std::atomic<bool> listens{true};
  static inline std::atomic<void (*)()> inside{nullptr};  // called in the middle of a push

  static constexpr kymo_sink kSink = {
      .name = kNumber == 0 ? "first of the test's" : "second of the test's",
      .range_push =
          [](const char* text, const kymo_label*) {
            received.add(std::string("push ") + text);
            if (const auto call = inside.load()) call();
          },
      .range_pop = [] { received.add("pop"); },
      .range_start = [](const char* text, const kymo_label*, uint64_t) { received.add(std::string("start ") + text); },
      .range_end = [](uint64_t) { received.add("end"); },
      .mark =
          [](const char* text, const kymo_label* label) {
            received.add(std::string("mark ") + text + (label->category != nullptr ? " of a category" : ""));
          },
      .counter = [](const char* text,
                    double value) { received.add(std::string(text) + " = " + std::to_string(value)); },
      .interval_begin =
          [](const kymo_signpost* post) { received.add("begin " + std::string(post->name, post->name_length)); },
      .interval_end =
          [](const kymo_signpost* post) { received.add("end " + std::string(post->name, post->name_length)); },
      .event = [](const kymo_signpost* post) { received.add("event " + std::string(post->name, post->name_length)); },
      .wants_messages = kNumber,
      .listens = [](kymo_sink_interest) -> int { return listens ? 1 : 0; },
  };
};
using First = TestSink<0>;
using Second = TestSink<1>;

class SinksTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(kymo_add_sink(&First::kSink), 0); }
  void TearDown() override {
    kymo_remove_sink(&First::kSink);
    kymo_remove_sink(&Second::kSink);
    First::listens = true;
    First::inside = nullptr;
    First::received.take();
    Second::received.take();
    if (Sent* sent = sent_by_this_thread(*process(), false)) sent->forget();
  }
};

}  // namespace kymo::record
