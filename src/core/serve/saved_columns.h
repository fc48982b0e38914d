// Columns of numbers for the script of a saved page, by name.
//
// Each begins at a multiple of 8 bytes, in the byte order of the machine, so that a script uses it as a typed array
// without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json_writer.h"

namespace kymo::serve {

class SavedColumns {
 public:
  SavedColumns() { index_.begin_object(); }

  void add(std::string_view name, std::span<const uint32_t> values) {
    add(name, "u32", std::as_bytes(values), values.size());
  }
  void add(std::string_view name, std::span<const double> values) {
    add(name, "f64", std::as_bytes(values), values.size());
  }

  const std::string& bytes() const { return bytes_; }
  // Once, after all columns: {"name": ["u32", offset in bytes, number of values], …}.
  std::string index() {
    index_.end_object();
    return index_.text();
  }

 private:
  void add(std::string_view name, const char* type, std::span<const std::byte> values, size_t count) {
    index_.begin_array(name);
    index_.value(type);
    index_.value(bytes_.size());
    index_.value(count);
    index_.end_array();
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size());
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
  }

  std::string bytes_;
  base::JsonWriter index_{base::JsonWriter::Layout::OneLine};
};

}  // namespace kymo::serve
