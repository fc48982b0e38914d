#include "json/document.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <string>
#include <type_traits>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::json {

namespace dom = simdjson::dom;

// Converts between a Value and simdjson's element.
struct Value::Access {
  static_assert(sizeof(Value) == sizeof(dom::element) && std::is_trivially_copyable_v<dom::element>);

  static dom::element element(const Value& value) { return std::bit_cast<dom::element>(value); }
  static Value value(const dom::element& element) { return std::bit_cast<Value>(element); }
};

struct Document::Tape {
  dom::document document;
};

namespace {

[[noreturn]] void refuse(std::string_view why) { throw Error(base::format("this is no JSON: {}", why)); }

// simdjson decodes a lone half of a surrogate pair to bytes that are not UTF-8.
void check_utf8(std::string_view text) {
  if (!simdjson::validate_utf8(text.data(), text.size())) refuse("a text is not UTF-8");
}

// Checks what simdjson does not check: UTF-8 in texts, and names that occur twice. The depth is already limited.
void check_texts(const dom::element& element, RepeatedNames repeated) {  // NOLINT(misc-no-recursion)
  if (std::string_view text; element.get(text) == simdjson::SUCCESS) return check_utf8(text);
  if (dom::array list; element.get(list) == simdjson::SUCCESS) {
    for (const dom::element item : list) check_texts(item, repeated);
    return;
  }
  dom::object object;
  if (element.get(object) != simdjson::SUCCESS) return;
  std::vector<std::string_view> names;
  for (const dom::key_value_pair member : object) {
    check_utf8(member.key);
    names.push_back(member.key);
    check_texts(member.value, repeated);
  }
  if (repeated == RepeatedNames::LastCounts) return;
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    refuse(base::format("\"{}\" is named twice", *twice));
}

template <class T>
T get(const dom::element& element, std::string_view what, std::string_view wanted) {
  T value;
  if (element.get(value) != simdjson::SUCCESS) throw Error(base::format("{} is {}", what, wanted));
  return value;
}

}  // namespace

Document::Document(std::string_view untrusted, RepeatedNames repeated) : tape_(std::make_unique<Tape>()) {
  if (untrusted.size() > kLongestText)
    refuse(base::format("{} bytes are more than {}", untrusted.size(), kLongestText));
  dom::parser parser;
  // simdjson counts the document itself as one level.
  simdjson::error_code error = parser.allocate(untrusted.size(), kDeepest + 1);
  dom::element root;
  if (error == simdjson::SUCCESS) {
    error = parser.parse_into_document(tape_->document, simdjson::padded_string(untrusted)).get(root);
  }
  if (error != simdjson::SUCCESS) refuse(simdjson::error_message(error));
  check_texts(root, repeated);
  root_ = Value::Access::value(root);
}

Document::~Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;

std::string_view Value::text(std::string_view what) const {
  return get<std::string_view>(Access::element(*this), what, "no text");
}

uint64_t Value::number(std::string_view what) const {
  return get<uint64_t>(Access::element(*this), what, "no whole number");
}

int64_t Value::integer(std::string_view what) const {
  return get<int64_t>(Access::element(*this), what, "no whole number");
}

bool Value::boolean(std::string_view what) const {
  return get<bool>(Access::element(*this), what, "neither true nor false");
}

std::vector<Value> Value::list(std::string_view what) const {
  std::vector<Value> items;
  for (const dom::element item : get<dom::array>(Access::element(*this), what, "no list"))
    items.push_back(Access::value(item));
  return items;
}

std::vector<std::pair<std::string_view, Value>> Value::members(std::string_view what) const {
  std::vector<std::pair<std::string_view, Value>> all;
  for (const dom::key_value_pair member : get<dom::object>(Access::element(*this), what, "no object"))
    all.emplace_back(member.key, Access::value(member.value));
  return all;
}

std::optional<Value> Value::find(std::string_view name) const {
  dom::object object;
  if (Access::element(*this).get(object) != simdjson::SUCCESS) return std::nullopt;
  std::optional<Value> found;
  for (const dom::key_value_pair member : object)
    if (member.key == name) found = Access::value(member.value);
  return found;
}

Value Value::operator[](std::string_view name) const {
  if (const auto member = find(name)) return *member;
  throw Error(base::format("there is no \"{}\"", name));
}

}  // namespace kymo::json
