#include "json/document.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/printable.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::json {

// Converts between a Value and RapidJSON's.
struct Value::Access {
  static const rapidjson::Value& in(const Value& value) { return *static_cast<const rapidjson::Value*>(value.value_); }
  static Value out(const rapidjson::Value& value) {
    Value made;
    made.value_ = &value;
    return made;
  }
};

struct Document::Tree {
  rapidjson::Document document;
};

namespace {

[[noreturn]] void refuse(std::string_view why) { throw Error(base::format("this is no JSON: {}", why)); }

std::string_view text_of(const rapidjson::Value& value) { return {value.GetString(), value.GetStringLength()}; }

// Passes what RapidJSON finds on to a document, and checks what RapidJSON does not check: the depth, UTF-8 that escapes
// stand for, and integers of more than 64 bits, which it would round.
class CheckedReader {
 public:
  explicit CheckedReader(rapidjson::Document& to) : to_(to) {}

  bool Null() { return to_.Null(); }
  bool Bool(bool value) { return to_.Bool(value); }
  bool String(const char* text, rapidjson::SizeType size, bool copy) {
    if (std::string repaired; base::valid_utf8({text, size}, repaired).data() != text)
      return fail("a text is not UTF-8");
    return to_.String(text, size, copy);
  }
  bool Key(const char* text, rapidjson::SizeType size, bool copy) { return String(text, size, copy); }
  bool StartObject() { return is_deeper() && to_.StartObject(); }
  bool EndObject(rapidjson::SizeType count) { return --depth_, to_.EndObject(count); }
  bool StartArray() { return is_deeper() && to_.StartArray(); }
  bool EndArray(rapidjson::SizeType count) { return --depth_, to_.EndArray(count); }

  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    const char* const end = text + size;
    const auto is_all = [&](const auto& result) { return result.ec == std::errc() && result.ptr == end; };
    if (uint64_t whole = 0; is_all(std::from_chars(text, end, whole))) return to_.Uint64(whole);
    if (int64_t whole = 0; is_all(std::from_chars(text, end, whole))) return to_.Int64(whole);
    double number = 0;
    const bool is_whole = std::string_view(text, size).find_first_of(".eE") == std::string_view::npos;
    if (is_whole || !is_all(std::from_chars(text, end, number))) return fail("a number is too large");
    return to_.Double(number);
  }
  // Not called: numbers come as texts.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

  const char* failure() const { return failure_; }

 private:
  bool fail(const char* why) {
    failure_ = why;
    return false;
  }
  bool is_deeper() { return ++depth_ <= kDeepest || fail("it is nested too deeply"); }

  rapidjson::Document& to_;
  size_t depth_ = 0;
  const char* failure_ = nullptr;
};

void refuse_repeated_names(const rapidjson::Value& value) {  // NOLINT(misc-no-recursion): the depth is limited
  if (value.IsArray())
    for (const rapidjson::Value& item : value.GetArray()) refuse_repeated_names(item);
  if (!value.IsObject()) return;
  std::vector<std::string_view> names;
  for (const auto& member : value.GetObject()) {
    names.push_back(text_of(member.name));
    refuse_repeated_names(member.value);
  }
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    refuse(base::format("\"{}\" is named twice", *twice));
}

void expect(bool is_so, std::string_view what, std::string_view wanted) {
  if (!is_so) throw Error(base::format("{} is {}", what, wanted));
}

}  // namespace

Document::Document(std::string_view untrusted, RepeatedNames repeated) : tree_(std::make_unique<Tree>()) {
  if (untrusted.size() > kLongestText)
    refuse(base::format("{} bytes are more than {}", untrusted.size(), kLongestText));
  if (untrusted.find('\0') != std::string_view::npos) refuse("it contains a zero byte");  // RapidJSON's end of a text
  rapidjson::MemoryStream stream(untrusted.data(), untrusted.size());
  rapidjson::Reader reader;
  CheckedReader checked(tree_->document);
  const auto parse = [&](rapidjson::Document&) {
    constexpr unsigned kFlags = rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
    return !reader.Parse<kFlags>(stream, checked).IsError();
  };
  tree_->document.Populate(parse);
  if (reader.HasParseError())
    refuse(checked.failure() != nullptr
               ? checked.failure()
               : base::format("{} (at byte {})", rapidjson::GetParseError_En(reader.GetParseErrorCode()),
                              reader.GetErrorOffset()));
  if (repeated == RepeatedNames::Refuse) refuse_repeated_names(tree_->document);
  root_ = Value::Access::out(tree_->document);
}

Document::~Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;

std::string_view Value::text(std::string_view what) const {
  expect(Access::in(*this).IsString(), what, "no text");
  return text_of(Access::in(*this));
}

uint64_t Value::number(std::string_view what) const {
  expect(Access::in(*this).IsUint64(), what, "no whole number");
  return Access::in(*this).GetUint64();
}

int64_t Value::integer(std::string_view what) const {
  expect(Access::in(*this).IsInt64(), what, "no whole number");
  return Access::in(*this).GetInt64();
}

bool Value::boolean(std::string_view what) const {
  expect(Access::in(*this).IsBool(), what, "neither true nor false");
  return Access::in(*this).GetBool();
}

std::vector<Value> Value::list(std::string_view what) const {
  expect(Access::in(*this).IsArray(), what, "no list");
  std::vector<Value> items;
  for (const rapidjson::Value& item : Access::in(*this).GetArray()) items.push_back(Access::out(item));
  return items;
}

std::vector<std::pair<std::string_view, Value>> Value::members(std::string_view what) const {
  expect(Access::in(*this).IsObject(), what, "no object");
  std::vector<std::pair<std::string_view, Value>> all;
  for (const auto& member : Access::in(*this).GetObject())
    all.emplace_back(text_of(member.name), Access::out(member.value));
  return all;
}

std::optional<Value> Value::find(std::string_view name) const {
  std::optional<Value> found;
  if (!Access::in(*this).IsObject()) return found;
  for (const auto& member : Access::in(*this).GetObject())
    if (text_of(member.name) == name) found = Access::out(member.value);
  return found;
}

Value Value::operator[](std::string_view name) const {
  if (const auto member = find(name)) return *member;
  throw Error(base::format("there is no \"{}\"", name));
}

}  // namespace kymo::json
