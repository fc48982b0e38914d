#include "import/json_events.h"

#include <array>
#include <charconv>
#include <cstring>

#include "import/json_tokens.h"

namespace kymo::import {

static_assert(JsonEvents::kPadding >= simdjson::SIMDJSON_PADDING);

class JsonEvents::Parser : private JsonTokens {
 public:
  using JsonTokens::start;

  void skip_range_values() { skips_values_ = true; }

  void events(const std::function<void(const JsonEvent&)>& visit) {
    expect('[');
    if (token() == ']') {
      next();
    } else {
      for (;;) {
        event_.clear();
        forget_texts();
        is_wanted_ = true;
        if (token() == '{') {
          read_event();
        } else {
          skip();
        }
        if (is_wanted_) visit(event_);
        if (!goes_on(']')) break;
      }
    }
    // Nothing may follow: a piece that was cut at the wrong place may have the end of the list in it.
    if (!is_at_end()) throw Invalid();
  }

  std::optional<JsonArgument> only_value() {
    forget_texts();
    expect('[');
    JsonArgument argument;
    if (!read_argument(argument)) return std::nullopt;
    expect(']');
    return argument;
  }

 private:
  JsonId take_id() {
    JsonId id;
    const bool is_text = token() == '"';
    if (!is_text && !is_number()) {
      skip();
      return id;
    }
    const std::string_view text = take_number_text();
    if (take_short_number(text, id.number) && (!is_text || std::to_string(id.number) == text)) return id;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id.number);
    const bool is_whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
    if (is_whole && (!is_text || std::to_string(id.number) == text)) return id;
    return {true, 0, text};
  }

  // A pid or tid. Most events have one of a few.
  JsonId take_row_id() {
    const std::string_view token = token_text();
    if (token.size() > sizeof(uint64_t)) return take_id();
    uint64_t text = 0;
    std::memcpy(&text, token.data(), sizeof text);  // the next token, or the bytes after the text, follow
    if (token.size() < sizeof text) text &= (uint64_t{1} << (8 * token.size())) - 1;
    RecentId& recent = recent_ids_[(text ^ text >> 8 ^ text >> 16) % recent_ids_.size()];
    if (recent.text == text) {
      next();
      return recent.id;
    }
    const JsonId id = take_id();
    if (!id.is_text) recent = {text, id};
    return id;
  }

  // False: the value is null.
  bool read_argument(JsonArgument& argument) {
    switch (token()) {
      case '"':
        argument.type = JsonArgument::Type::String;
        argument.text = take_text();
        return true;
      case '{':
      case '[': {
        argument.type = JsonArgument::Type::Json;
        const Place begin = place();
        skip();
        argument.text = text_since(begin);
        return true;
      }
      default:
        break;
    }
    if (is_number()) {
      read_number(take_raw(), argument);
      return true;
    }
    const char first = token();
    check_word();
    next();
    argument.type = JsonArgument::Type::Bool;
    argument.bits = first == 't' ? 1 : 0;
    return first != 'n';
  }

  // The numbers are read when everything else is known: a third of the events of a PyTorch trace are arrows that are
  // not imported.
  void read_event() {
    pid_ = tid_ = time_ = duration_ = id_ = nullptr;
    read_members([this](std::string_view key) { read_member(key); });
    const Place end = place();
    is_wanted_ = !(event_.category == "ac2g" && (event_.phase == 's' || event_.phase == 'f') && time_ != nullptr);
    if (!is_wanted_) return;
    const auto at = [this](Place place) { return go_to(place), place != nullptr; };
    if (at(pid_)) event_.pid = take_row_id();
    if (at(tid_)) event_.tid = take_row_id();
    if (at(id_)) event_.id = take_id();
    if (at(time_)) event_.time_ns = time_nanoseconds(take_number_text());
    if (at(duration_)) {
      event_.duration_ns = nanoseconds(take_number_text());
      event_.has_bad_duration = !event_.duration_ns;
    }
    go_to(end);
  }

  void remember(Place& place) {
    place = this->place();
    skip();
  }

  void read_member(std::string_view key) {
    // By their lengths: an event has up to ten of them.
    switch (key.size()) {
      case 2:
        if (key == "ph") {
          const std::string_view phase = token() == '"' ? take_text() : (skip(), std::string_view());
          event_.phase = phase.empty() ? '\0' : phase[0];
          return;
        }
        if (key == "ts") return remember(time_);
        if (key == "id") return remember(id_);
        break;
      case 3:
        if (key == "cat") return void(event_.category = take_number_text());
        if (key == "pid") return remember(pid_);
        if (key == "tid") return remember(tid_);
        if (key == "dur") return remember(duration_);
        if (key == "id2") return read_long_id();
        break;
      case 4:
        if (key == "name") return void(event_.name = take_number_text());
        if (key == "args") return read_arguments();
        break;
      case 5:
        if (key == "scope" && token() == '"') return void(event_.scope = take_text());
        break;
      default:
        break;
    }
    skip();
  }

  // {"local": "0x1"} or {"global": …}.
  void read_long_id() {
    read_members([this](std::string_view scope) {
      event_.id_is_local = scope == "local";
      event_.id = take_id();
    });
  }

  void read_arguments() {
    if (skips_values_ && event_.phase == 'X' && token() == '{') return read_needed_arguments();
    read_members([&](std::string_view name) { read_argument_of(name); });
  }

  void read_argument_of(std::string_view name) {
    JsonArgument& argument = event_.arguments.emplace_back();
    argument.key = name;
    if (!read_argument(argument)) event_.arguments.pop_back();
  }

  // Only those of is_needed(). Most are not, and most of these begin with another letter.
  void read_needed_arguments() {
    bool reads_all = false;
    next();
    if (token() == '}') return void(next());
    do {
      if (token() != '"') throw Invalid();
      const char first = token_text()[1];
      const bool may_be_needed = first == 'c' || first == 'd' || first == 's' || first == 'f' || first == 'k';
      std::string_view name;
      if (may_be_needed || reads_all) {
        name = take_text();
      } else {
        next();
      }
      expect(':');
      if (reads_all || is_needed(name)) {
        reads_all |= name == "kymo";  // what follows belongs to it
        read_argument_of(name);
      } else {
        skip();
      }
    } while (goes_on('}'));
  }

  // The arguments that say more about a range than a value.
  static bool is_needed(std::string_view name) {
    switch (name.size()) {
      case 4:
        return name == "kymo";
      case 6:
        return name == "device" || name == "stream" || name == "colour";
      case 7:
        return name == "context";
      case 8:
        return name == "finished";
      case 11:
        return name == "correlation";
      default:
        return false;
    }
  }

  Place pid_ = nullptr, tid_ = nullptr, time_ = nullptr, duration_ = nullptr, id_ = nullptr;  // of the event
  bool is_wanted_ = true;
  struct RecentId {
    uint64_t text = 0;  // no token is 0
    JsonId id;
  };
  std::array<RecentId, 16> recent_ids_;
  bool skips_values_ = false;
  JsonEvent event_;
};

JsonEvents::JsonEvents() : parser_(std::make_unique<Parser>()) {}
JsonEvents::~JsonEvents() = default;

void JsonEvents::skip_range_values() { parser_->skip_range_values(); }

bool JsonEvents::parse(char* text, size_t size, const std::function<void(const JsonEvent&)>& visit) {
  try {
    parser_->start(text, size);
    parser_->events(visit);
    return true;
  } catch (const JsonTokens::Invalid&) {
    return false;
  }
}

bool JsonEvents::parse(std::string& text, const std::function<void(const JsonEvent&)>& visit) {
  const size_t size = text.size();
  text.resize(size + kPadding);
  const bool is_valid = parse(text.data(), size, visit);
  text.resize(size);
  return is_valid;
}

std::optional<JsonArgument> JsonEvents::value(std::string& text) {
  text.insert(text.begin(), '[');
  text += ']';
  const size_t size = text.size();
  text.resize(size + kPadding);
  try {
    parser_->start(text.data(), size);
    return parser_->only_value();
  } catch (const JsonTokens::Invalid&) {
    return std::nullopt;
  }
}

}  // namespace kymo::import
