#include "import/json_pieces.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::import {
namespace {

constexpr size_t kReadBytes = 1 << 20;
constexpr size_t kListBytes = 64 << 10;  // of a piece that was cut byte by byte
constexpr size_t kMostMembers = 4096;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// True if an event seems to begin at `text`, which starts with `{`.
bool looks_like_event(std::string_view text) {
  size_t at = 1;
  while (at < text.size() && is_blank(text[at])) ++at;
  if (text.compare(at, 4, "\"ph\"") != 0) return false;
  at += 4;
  while (at < text.size() && is_blank(text[at])) ++at;
  return at < text.size() && text[at] == ':';
}

// The position of the last comma in `text` after which an event seems to begin; 0: there is none.
size_t last_event(std::string_view text) {
  for (size_t at = text.size(); at > 1;) {
    const void* const found = memrchr(text.data(), '{', at);
    if (found == nullptr) return 0;
    at = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    if (!looks_like_event(text.substr(at, 64))) continue;
    size_t before = at;
    while (before > 0 && is_blank(text[before - 1])) --before;
    if (before > 1 && text[before - 1] == ',') return before - 1;
  }
  return 0;
}

}  // namespace

bool JsonPieces::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  const size_t had = buffer_.size();
  buffer_.resize(had + kReadBytes);
  const size_t count = source_.read({buffer_.data() + had, kReadBytes});
  buffer_.resize(had + count);
  at_end_ = count == 0;
  return !at_end_;
}

// The next character that is not blank; 0 at the end.
char JsonPieces::skip_blanks() {
  for (;;) {
    while (begin_ < buffer_.size() && is_blank(buffer_[begin_])) ++begin_, ++used_;
    if (begin_ < buffer_.size()) return buffer_[begin_];
    if (!fill()) return 0;
  }
}

void JsonPieces::start() {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  fill();
  if (rest().starts_with(kByteOrderMark)) begin_ += kByteOrderMark.size();
  const char first = skip_blanks();
  if (first == '[') {
    state_ = State::Events;
    events_seen_ = true;
  } else if (first == '{') {
    state_ = State::Members;
    in_object_ = true;
  } else {
    throw Error("the text is neither a list of events nor an object with a list \"traceEvents\"");
  }
  ++begin_, ++used_;
}

// Moves `scan` to the end of the value that begins at begin_. False: the buffer ends first.
bool JsonPieces::scan_value(Scan& scan) const {
  const std::string_view text = rest();
  while (scan.at < text.size()) {
    const char c = text[scan.at];
    if (scan.in_text) {
      ++scan.at;
      if (scan.escaped) {
        scan.escaped = false;
      } else if (c == '\\') {
        scan.escaped = true;
      } else if (c == '"') {
        scan.in_text = false;
        if (scan.depth == 0) return true;
      }
      continue;
    }
    switch (c) {
      case '"':
        scan.in_text = scan.started = true;
        break;
      case '{':
      case '[':
        ++scan.depth;
        scan.started = true;
        break;
      case '}':
      case ']':
        if (scan.depth == 0) return true;  // the end of what is around the value
        if (--scan.depth == 0) {
          ++scan.at;
          return true;
        }
        break;
      case ',':
      case ':':
        if (scan.depth == 0) return true;
        break;
      default:
        if (!is_blank(c)) scan.started = true;
    }
    ++scan.at;
  }
  return false;
}

// The value that begins at begin_, as text. False: the file ends first.
bool JsonPieces::read_value(std::string* into, size_t longest) {
  Scan scan;
  bool whole = true;
  while (!scan_value(scan)) {
    if (scan.at > longest) {
      whole = false;
      begin_ += scan.at;
      used_ += scan.at;
      scan.at = 0;
    }
    if (!fill()) {
      const bool is_value = scan.started && !scan.in_text && scan.depth == 0;
      if (!is_value) return false;
      break;
    }
  }
  if (into != nullptr) *into = whole ? std::string(rest().substr(0, scan.at)) : std::string();
  begin_ += scan.at;
  used_ += scan.at;
  return true;
}

bool JsonPieces::read_text(std::string& into) {
  if (skip_blanks() != '"') return false;
  if (!read_value(&into, kLongestMember) || into.size() < 2) return false;
  into = into.substr(1, into.size() - 2);
  return true;
}

void JsonPieces::read_members() {
  for (;;) {
    const char c = skip_blanks();
    if (c == ',') {
      ++begin_, ++used_;
      continue;
    }
    if (c != '"') {
      state_ = State::Done;
      truncated_ = c == 0;
      return;
    }
    std::string name, value;
    if (!read_text(name) || skip_blanks() != ':') {
      state_ = State::Done;
      truncated_ = true;
      return;
    }
    ++begin_, ++used_;
    if (skip_blanks() == '[' && name == "traceEvents") {
      ++begin_, ++used_;
      state_ = State::Events;
      events_seen_ = true;
      return;
    }
    if (!read_value(&value, kLongestMember)) {
      state_ = State::Done;
      truncated_ = true;
      return;
    }
    if (members_.size() < kMostMembers) members_.emplace_back(std::move(name), std::move(value));
  }
}

void JsonPieces::take(size_t length, JsonPiece& piece) {
  piece.text.clear();
  piece.text.reserve(length + 128);
  piece.text += '[';
  piece.text.append(buffer_, begin_, length);
  piece.text += ']';
  begin_ += length;
  used_ += length;
}

bool JsonPieces::guessed_piece(JsonPiece& piece) {
  while (rest().size() < kPieceBytes && fill()) continue;
  if (at_end_ && rest().size() < kPieceBytes) return false;
  const size_t length = last_event(rest().substr(0, kPieceBytes));
  if (length == 0) return false;
  piece.cut = JsonPiece::Cut::Guessed;
  take(length, piece);
  return true;
}

// Leaves out the event whose first bytes were scanned.
bool JsonPieces::skip_long_event(Scan& scan) {
  ++left_out_;
  do {
    begin_ += scan.at;
    used_ += scan.at;
    scan.at = 0;
    if (!fill()) return false;
  } while (!scan_value(scan));
  begin_ += scan.at;
  used_ += scan.at;
  return true;
}

// One event or a list of some. False: the list of events ends here.
bool JsonPieces::scanned_piece(JsonPiece& piece) {
  const bool single = used_ < single_until_;
  for (;;) {
    const char first = skip_blanks();
    if (first == ',') {
      ++begin_, ++used_;
      continue;
    }
    if (first == ']') {
      ++begin_, ++used_;
      state_ = in_object_ ? State::Members : State::Done;
      return false;
    }
    if (first == 0) {
      state_ = State::Done;
      truncated_ = in_object_;  // a plain list may end without its bracket
      return false;
    }
    size_t length = 0;
    Scan scan;
    for (bool more = true; more;) {
      const bool whole = scan_value(scan);
      if (!whole) {
        if (length > 0) break;
        if (scan.at > kLongestEvent) {
          if (!skip_long_event(scan)) truncated_ = true;
          break;
        }
        if (fill()) continue;
        truncated_ = true;  // inside an event
        state_ = State::Done;
        begin_ = buffer_.size();
        return false;
      }
      if (scan.at == 0) {  // a stray character
        ++begin_, ++used_;
        break;
      }
      length = scan.at;
      // More events, up to the end of a piece.
      while (scan.at < rest().size() && (is_blank(rest()[scan.at]) || rest()[scan.at] == ',')) ++scan.at;
      more = !single && length < kListBytes && scan.at < rest().size() && rest()[scan.at] == '{';
      scan = {scan.at, 0, false, false, false};
    }
    if (length == 0) continue;
    piece.cut = single ? JsonPiece::Cut::Single : JsonPiece::Cut::Lists;
    take(length, piece);
    return true;
  }
}

bool JsonPieces::next(JsonPiece& piece) {
  if (state_ == State::Start) start();
  for (;;) {
    if (state_ == State::Members) read_members();
    if (state_ == State::Done) return false;
    if (state_ != State::Events) continue;
    // The comma before the next event.
    while (skip_blanks() == ',') ++begin_, ++used_;
    if (used_ >= lists_until_ && guessed_piece(piece)) return true;
    if (scanned_piece(piece)) return true;
  }
}

void JsonPieces::retry(const JsonPiece& piece) {
  const size_t length = piece.text.size() - 2;
  buffer_.replace(0, begin_, piece.text, 1, length);
  begin_ = 0;
  used_ -= length;
  lists_until_ = std::max(lists_until_, used_ + length);
  if (piece.cut == JsonPiece::Cut::Lists) single_until_ = std::max(single_until_, used_ + length);
}

}  // namespace kymo::import
