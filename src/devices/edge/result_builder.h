// The steps of build.h, in order. Each adds its part to the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edge/build.h"
#include "edge/open_operations.h"
#include "edge/unix_clock.h"

namespace kymo::edge {

// Inputs without duplicates, in one vector.
class InputPool {
 public:
  explicit InputPool(std::vector<std::byte>& bytes) : bytes_(bytes), slots_(kFirst) {}
  // Their position; kNothing: there are no more numbers.
  uint32_t add(std::span<const std::byte> inputs);

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t at = 0, size = 0;  // size 0: empty
  };
  static constexpr size_t kFirst = 1024;
  void enlarge();

  std::vector<std::byte>& bytes_;
  std::vector<Slot> slots_;  // their number is a power of two; at least half are empty
  size_t used_ = 0;
};

class ResultBuilder {
 public:
  ResultBuilder(const LogContents& log, const Module& module, const BuildOptions& options);
  std::shared_ptr<const ResultData> build();

 private:
  // Maps the numbers of one thread to events.
  struct ThreadEvents {
    std::vector<std::string_view> names;
    uint32_t first = 0;  // the event of its first operation, if `events` is empty
    uint32_t operations = 0;
    std::vector<uint32_t> events;  // of each operation, if there are backend events among them
    uint32_t of(uint32_t operation) const {
      if (operation >= operations) return EdgeEvent::kNone;
      return events.empty() ? first + operation : events[operation];
    }
    std::string_view name(uint32_t number) const { return number < names.size() ? names[number] : std::string_view{}; }
  };

  struct ThreadTimes {
    std::vector<TimeSpan> operations;
    std::vector<uint32_t> parents;
  };

  // result_causes.cc
  ThreadTimes times_of(const ThreadLog& log) const;
  std::vector<uint32_t> causes_of(const ThreadLog& log) const;  // operations: one for each device operation
  // result_events.cc
  void add_thread(const ThreadLog& log);
  void add_operation(const ThreadLog& log, const RawOperation& raw, uint32_t parent, const ThreadEvents& thread);
  void add_with_backend_events(const ThreadLog& log, ThreadEvents& thread);
  void add_device_events();
  // result_costs.cc
  void add_memory();
  void count_totals();
  void share_with_parents();  // memory and counts
  void subtract_overhead();
  void add_flops();
  // result_places.cc
  void ask_module();
  void name_stacks();

  void report_losses();
  void list_operators_without_flops(const std::vector<bool>& counted);

  const LogContents& log_;
  const Module& module_;
  const BuildOptions& options_;
  const UnixClock clock_;
  const size_t event_count_;  // performance events
  std::shared_ptr<ResultData> data_ = std::make_shared<ResultData>();
  InputPool inputs_{data_->inputs};
  std::vector<ThreadEvents> threads_;

  uint64_t reversed_operations_ = 0, reversed_backend_events_ = 0, early_backend_events_ = 0;
  uint64_t reversed_device_operations_ = 0, inputs_without_room_ = 0, counts_without_room_ = 0;
};

}  // namespace kymo::edge
