// The memory fields of a class of points. They are found by their names, once per class.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trace/reader.h"

namespace kymo::memory {

using Value = trace::ValueCursor::Value;

inline constexpr std::string_view kHeap = "heap";           // the device of memory from the C library
inline constexpr std::string_view kUnnamedMemory = "host";  // if no device is given

class PointFields {
 public:
  explicit PointFields(const trace::EventClass& event_class);

  // An instant that describes one more stack frame, or a loaded file.
  bool is_stack_node() const { return is_stack_ && node_ >= 0 && parent_ >= 0 && address_ >= 0; }
  bool is_loaded_file() const { return is_stack_ && path_ >= 0 && base_ >= 0 && size_ >= 0; }
  bool is_heap() const { return is_heap_; }

  // Values in a row of the class. A missing value is 0 or empty. `bytes` is never negative.
  uint64_t bytes(std::span<const Value> row) const;
  uint64_t weight(std::span<const Value> row) const { return number(row, weight_); }
  std::optional<uint64_t> node(std::span<const Value> row) const;
  uint64_t stack(std::span<const Value> row) const { return number(row, stack_); }  // in the trace's table; 0: none
  uint64_t parent(std::span<const Value> row) const { return number(row, parent_); }
  uint64_t address(std::span<const Value> row) const { return number(row, address_); }
  uint64_t base(std::span<const Value> row) const { return number(row, base_); }
  uint64_t size(std::span<const Value> row) const { return number(row, size_); }
  std::string_view path(std::span<const Value> row) const { return text(row, path_); }
  std::string_view build_id(std::span<const Value> row) const { return text(row, build_id_); }
  std::string_view category(std::span<const Value> row) const { return text(row, category_); }
  std::string device(std::span<const Value> row) const;  // "cuda:0", "cpu", "heap", "host"

 private:
  static uint64_t number(std::span<const Value> row, int field);
  static std::string_view text(std::span<const Value> row, int field);

  bool is_stack_ = false, is_heap_ = false;
  int bytes_ = -1, weight_ = -1, node_ = -1, stack_ = -1, parent_ = -1, address_ = -1, base_ = -1, size_ = -1;
  int path_ = -1, build_id_ = -1, category_ = -1, device_ = -1, device_type_ = -1, device_id_ = -1;
};

}  // namespace kymo::memory
