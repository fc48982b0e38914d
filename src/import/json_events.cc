#include "import/json_events.h"

#include <simdjson.h>

#include <charconv>
#include <cstring>
#include <limits>

namespace kymo::import {
namespace {

namespace ondemand = simdjson::ondemand;

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

// The text of a string value. Most texts have no escapes, and a view of the file is enough.
std::string_view text_of(ondemand::value& value) {
  const std::string_view token = without_blanks(value.raw_json_token());
  if (token.size() >= 2 && std::memchr(token.data(), '\\', token.size()) == nullptr)
    return token.substr(1, token.size() - 2);
  std::string_view text;
  return value.get_string().get(text) == simdjson::SUCCESS ? text : std::string_view();
}

ondemand::field field_of(simdjson::simdjson_result<ondemand::field>& member) {
  ondemand::field field;
  if (const auto error = std::move(member).get(field); error != simdjson::SUCCESS)
    throw simdjson::simdjson_error(error);
  return field;
}

std::string_view key_of(ondemand::field& field) {
  const char* const begin = field.key().raw();
  for (const char* at = begin; *at != '\\'; ++at)
    if (*at == '"') return {begin, static_cast<size_t>(at - begin)};
  std::string_view key;
  return field.unescaped_key().get(key) == simdjson::SUCCESS ? key : std::string_view();
}

ondemand::json_type type_of(ondemand::value& value) {
  return value.type();  // throws if it is not JSON
}

// Strings may be numbers: some writers quote their times and ids.
std::string_view number_text(ondemand::value& value) {
  switch (type_of(value)) {
    case ondemand::json_type::number:
      return without_blanks(value.raw_json_token());
    case ondemand::json_type::string:
      return text_of(value);
    default:
      return {};
  }
}

JsonId id_of(ondemand::value& value) {
  JsonId id;
  const auto type = type_of(value);
  if (type != ondemand::json_type::number && type != ondemand::json_type::string) return id;
  const std::string_view text = number_text(value);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id.number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && !text.empty();
  if (is_number && type == ondemand::json_type::number) return id;
  if (is_number && std::to_string(id.number) == text) return id;
  return {true, 0, text};
}

void read_number(std::string_view text, JsonArgument& argument) {
  const char *const begin = text.data(), *const end = begin + text.size();
  const auto is_all = [end](std::from_chars_result result) { return result.ptr == end && result.ec == std::errc(); };
  int64_t number = 0;
  if (is_all(std::from_chars(begin, end, number))) {
    argument.type = JsonArgument::Type::Int;
    argument.bits = static_cast<uint64_t>(number);
  } else if (uint64_t large = 0; is_all(std::from_chars(begin, end, large))) {
    argument.type = JsonArgument::Type::UInt;
    argument.bits = large;
  } else {
    argument.type = JsonArgument::Type::Double;
    argument.real = 0;
    std::from_chars(begin, end, argument.real);
  }
}

// False: the value is null.
bool read_argument(ondemand::value& value, JsonArgument& argument) {
  switch (type_of(value)) {
    case ondemand::json_type::number:
      read_number(without_blanks(value.raw_json_token()), argument);
      return true;
    case ondemand::json_type::string:
      argument.type = JsonArgument::Type::String;
      argument.text = text_of(value);
      return true;
    case ondemand::json_type::boolean:
      argument.type = JsonArgument::Type::Bool;
      argument.bits = value.raw_json_token().starts_with('t') ? 1 : 0;
      return true;
    case ondemand::json_type::array:
    case ondemand::json_type::object: {
      argument.type = JsonArgument::Type::Json;
      std::string_view raw;
      const bool is_list = type_of(value) == ondemand::json_type::array;
      if (is_list) {
        ondemand::array list = value.get_array();
        raw = list.raw_json();
      } else {
        ondemand::object object = value.get_object();
        raw = object.raw_json();
      }
      argument.text = without_blanks(raw);
      return true;
    }
    default:
      return false;
  }
}

void read_arguments(ondemand::value& value, JsonEvent& event) {
  if (type_of(value) != ondemand::json_type::object) return;
  for (auto member : value.get_object()) {
    ondemand::field field = field_of(member);
    JsonArgument argument;
    argument.key = key_of(field);
    if (read_argument(field.value(), argument)) event.arguments.push_back(argument);
  }
}

// "id2": {"local": "0x1"} or {"global": …}.
void read_long_id(ondemand::value& value, JsonEvent& event) {
  if (type_of(value) != ondemand::json_type::object) return;
  for (auto member : value.get_object()) {
    ondemand::field field = field_of(member);
    event.id_is_local = key_of(field) == "local";
    event.id = id_of(field.value());
  }
}

void read_member(std::string_view key, ondemand::value& value, JsonEvent& event) {
  const auto is_text = [&] { return type_of(value) == ondemand::json_type::string; };
  if (key == "ph") {
    const std::string_view phase = is_text() ? text_of(value) : std::string_view();
    event.phase = phase.empty() ? '\0' : phase[0];
  } else if (key == "name") {
    event.name = number_text(value);
  } else if (key == "cat") {
    event.category = number_text(value);
  } else if (key == "ts") {
    event.time_ns = nanoseconds(number_text(value));
  } else if (key == "dur") {
    event.duration_ns = nanoseconds(number_text(value));
  } else if (key == "pid") {
    event.pid = id_of(value);
  } else if (key == "tid") {
    event.tid = id_of(value);
  } else if (key == "args") {
    read_arguments(value, event);
  } else if (key == "id") {
    event.id = id_of(value);
  } else if (key == "id2") {
    read_long_id(value, event);
  } else if (key == "scope") {
    if (is_text()) event.scope = text_of(value);
  }
}

}  // namespace

struct JsonEvents::Parser {
  ondemand::parser json;
  JsonEvent event;
};

JsonEvents::JsonEvents() : parser_(std::make_unique<Parser>()) {}
JsonEvents::~JsonEvents() = default;

bool JsonEvents::parse(std::string& text, const std::function<void(const JsonEvent&)>& visit) {
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  try {
    ondemand::document document = parser_->json.iterate(text.data(), text.size(), text.capacity());
    for (auto element : document.get_array()) {
      ondemand::value value = element.value();
      JsonEvent& event = parser_->event;
      event.clear();
      if (type_of(value) == ondemand::json_type::object) {
        for (auto member : value.get_object()) {
          ondemand::field field = field_of(member);
          read_member(key_of(field), field.value(), event);
        }
      }
      visit(event);
    }
    // Nothing may follow: a piece that was cut wrongly may have the end of the list in it.
    const char* rest = nullptr;
    return document.current_location().get(rest) == simdjson::OUT_OF_BOUNDS;
  } catch (const simdjson::simdjson_error&) {
    return false;
  }
}

std::optional<JsonArgument> JsonEvents::value(std::string& text) {
  text.insert(text.begin(), '[');  // a document of one value has other types in simdjson
  text += ']';
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  try {
    ondemand::document document = parser_->json.iterate(text.data(), text.size(), text.capacity());
    for (auto element : document.get_array()) {
      ondemand::value value = element.value();
      JsonArgument argument;
      if (read_argument(value, argument)) return argument;
    }
  } catch (const simdjson::simdjson_error&) {
  }
  return std::nullopt;
}

std::optional<int64_t> nanoseconds(std::string_view text) {
  constexpr uint64_t kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / 1000 - 1;
  const bool negative = text.starts_with('-');
  size_t at = negative || text.starts_with('+') ? 1 : 0;
  uint64_t whole = 0;
  const size_t first = at;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    whole = whole * 10 + static_cast<uint64_t>(text[at] - '0');
    if (whole > kMost) return std::nullopt;
  }
  const bool has_digits = at > first;
  uint64_t ns = 0;
  bool plain = has_digits;
  if (plain && at < text.size() && text[at] == '.') {
    uint64_t unit = 100;
    bool round_up = false;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      if (unit > 0) {
        ns += static_cast<uint64_t>(text[at] - '0') * unit;
        unit /= 10;
        if (unit == 0) round_up = at + 1 < text.size() && text[at + 1] >= '5' && text[at + 1] <= '9';
      }
    }
    ns += round_up ? 1 : 0;
  }
  if (!plain || at != text.size()) {  // an exponent, or not a number
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    const double scaled = value * 1000;
    if (!(scaled > -9.2e18 && scaled < 9.2e18)) return std::nullopt;
    return static_cast<int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  }
  const auto total = static_cast<int64_t>(whole * 1000 + ns);
  return negative ? -total : total;
}

}  // namespace kymo::import
