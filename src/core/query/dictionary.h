// The texts of an ENUM column: sorted, unique, and numbered in this order, so that ORDER BY sorts them as texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kymo::query {

class Dictionary {
 public:
  static constexpr uint32_t kNull = UINT32_MAX;

  // Adds a text; the numbers are valid only after finish(). It becomes base::readable_text(), which DuckDB accepts.
  void add(std::string_view untrusted);
  void finish();

  // The number of a text, as in add(); kNull if it was not added.
  uint32_t find(std::string_view untrusted) const;
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

}  // namespace kymo::query
