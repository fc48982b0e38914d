#include "serve/query.h"

#include <algorithm>
#include <charconv>

#include "base/printable.h"
#include "base/text.h"

namespace kymo::serve {

namespace {

// For a message: a request may have anything.
std::string shown(std::string_view value) {
  constexpr size_t kLongest = 60;
  return base::printable(std::string(value.substr(0, kLongest))) + (value.size() > kLongest ? "…" : "");
}

uint64_t parse_number(const std::string& name, std::string_view value, uint64_t most) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (value.empty() || error != std::errc{} || end != value.data() + value.size() || number > most)
    throw BadRequest(base::format("{}: '{}' is not a number from 0 to {}", name, shown(value), most));
  return number;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      decoded.push_back(' ');
    } else if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      decoded.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      decoded.push_back(text[i]);
    }
  }
  return decoded;
}

}  // namespace

Query Query::parse(std::string_view text) {
  std::multimap<std::string, std::string> parameters;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const size_t equals = std::min(part.find('='), part.size());
    parameters.emplace(decode(part.substr(0, equals)),
                       equals < part.size() ? decode(part.substr(equals + 1)) : std::string());
  }
  return Query(std::move(parameters));
}

std::optional<std::string_view> Query::find(const std::string& name) const {
  const auto found = parameters_.lower_bound(name);
  if (found == parameters_.end() || found->first != name) return {};
  return std::string_view(found->second);
}

uint64_t Query::number(const std::string& name, uint64_t most) const {
  const std::optional<std::string_view> value = find(name);
  if (!value) throw BadRequest(base::format("{} is missing: give a number from 0 to {}", name, most));
  return parse_number(name, *value, most);
}

uint64_t Query::number_or(const std::string& name, uint64_t most, uint64_t otherwise) const {
  return find(name) ? number(name, most) : otherwise;
}

std::vector<uint32_t> Query::numbers(const std::string& name, uint64_t most, size_t count) const {
  std::vector<uint32_t> numbers;
  std::string_view rest = find(name).value_or("");
  while (!rest.empty()) {
    if (numbers.size() == count)
      throw BadRequest(base::format("{}: more than {} numbers; ask for fewer at a time", name, count), 422);
    const std::string_view part = rest.substr(0, rest.find(','));
    numbers.push_back(static_cast<uint32_t>(parse_number(name, part, std::min<uint64_t>(most, UINT32_MAX))));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  }
  return numbers;
}

std::string Query::text(const std::string& name, size_t longest) const {
  const std::optional<std::string_view> value = find(name);
  if (!value || value->empty()) throw BadRequest(base::format("{} is missing: give a text", name));
  if (value->size() > longest)
    throw BadRequest(base::format("{}: the text has {} bytes; at most {} are allowed", name, value->size(), longest));
  return std::string(*value);
}

}  // namespace kymo::serve
