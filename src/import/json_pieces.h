// Cuts the text of a Chrome trace into pieces that can be parsed one by one, so that a file of any size needs little
// memory and several threads can parse it.
//
//   JsonPieces pieces(source);
//   for (JsonPiece piece; pieces.next(piece);)
//     if (!parse(piece.text)) pieces.retry(piece);       // comes again, cut more carefully
//   pieces.members()                                     // the rest of the file: "baseTimeNanoseconds", …
//
// A piece is a JSON list of events: "[{…},{…}]". Finding the ends of events exactly means a look at every byte, which
// takes as long as parsing. So pieces are first cut where an event seems to begin: at a `{` whose first key is "ph",
// after a comma. That text cannot be inside a JSON string. It can be inside the arguments of an event; then the piece
// is not valid JSON and the caller retries it. A piece that is retried is cut byte by byte, first into lists and at
// last into single events, so that one bad event costs only itself.
//
// Memory: two pieces. An event that is longer than kLongestEvent is left out and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/byte_source.h"

namespace kymo::import {

struct JsonPiece {
  enum class Cut : uint8_t { Guessed, Lists, Single };
  std::string text;  // with its brackets
  Cut cut = Cut::Guessed;
};

class JsonPieces {
 public:
  static constexpr size_t kPieceBytes = 2 << 20;
  static constexpr size_t kLongestEvent = 32 << 20;
  static constexpr size_t kLongestMember = 16 << 20;

  explicit JsonPieces(ByteSource& source) : source_(source) {}

  // The next piece; false at the end of the file. Throws kymo::Error if the text is neither a list nor an object with a
  // list "traceEvents".
  bool next(JsonPiece& piece);

  // The last piece of next(), which is not valid JSON, comes again. Not for a Single piece.
  void retry(const JsonPiece& piece);

  // Members of the outermost object other than the events: name and JSON text.
  const std::vector<std::pair<std::string, std::string>>& members() const { return members_; }
  bool is_truncated() const { return truncated_; }  // the file ends inside the list of events
  bool had_list() const { return events_seen_; }    // a list of events was found
  uint64_t left_out() const { return left_out_; }   // events longer than kLongestEvent

 private:
  enum class State : uint8_t { Start, Members, Events, Done };

  // Where the scanner is in a value.
  struct Scan {
    size_t at = 0;
    uint32_t depth = 0;
    bool in_text = false, escaped = false, started = false;
  };

  std::string_view rest() const { return std::string_view(buffer_).substr(begin_); }
  bool fill();  // reads more; false at the end
  char skip_blanks();
  void start();
  void read_members();
  bool read_value(std::string* into, size_t longest);
  bool read_text(std::string& into);
  bool guessed_piece(JsonPiece& piece);
  bool scanned_piece(JsonPiece& piece);
  bool scan_value(Scan& scan) const;
  bool skip_long_event(Scan& scan);
  void take(size_t length, JsonPiece& piece);

  ByteSource& source_;
  std::string buffer_;
  size_t begin_ = 0;  // of what is not used yet in buffer_
  bool at_end_ = false, truncated_ = false, in_object_ = false, events_seen_ = false;
  State state_ = State::Start;
  uint64_t left_out_ = 0;
  uint64_t used_ = 0;                            // bytes before begin_
  uint64_t lists_until_ = 0, single_until_ = 0;  // positions up to which pieces are cut byte by byte
  std::vector<std::pair<std::string, std::string>> members_;
};

}  // namespace kymo::import
