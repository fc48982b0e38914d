#include "import/chrome_piece.h"

#include "import/json_repair.h"

namespace kymo::import {
namespace {

constexpr size_t kPartBytes = 64 << 10;  // of a part of a piece that is not valid

}  // namespace

std::string chrome_row_key(const JsonId& pid, const JsonId& tid) { return pid.key() + "\n" + tid.key(); }

void ChromePiece::clear() {
  rows.clear();
  names.clear();
  open.clear();
  counts = {};
  launching_row.reset();
  ends_inside_event = false;
}

void ChromePieceReader::read(JsonPiece& piece, const ChromeQueues& queues, ChromePiece& to) {
  queues_ = &queues;
  to_ = &to;
  to.clear();
  rows_.clear();
  recent_ = {};
  if (!try_read(piece.text(), piece.size)) {
    // Either it was cut at the wrong place, or it has a bad event.
    const std::string_view text = piece.inside();
    const auto nothing = [](size_t, size_t) {};
    if (piece.is_guessed && !split_json_values(text, text.size(), nothing)) {
      to.ends_inside_event = true;
      return;
    }
    read_part(text, kPartBytes);
  }
  for (size_t i = 0; i < to.rows.size(); ++i) {
    EventBlock& from = blocks_[i];
    from.check_order();
    if (!from.records.empty()) to.rows[i].block = from;  // a copy has the exact size
    to.rows[i].block.tables = &tables_;
  }
}

// Reads lists of events, and single events where a list is not valid, so that a bad event costs only itself.
void ChromePieceReader::read_part(std::string_view text, size_t bytes) {
  const auto take = [&](size_t begin, size_t size) {
    const std::string_view part = text.substr(begin, size);
    part_.assign(1, '[').append(part).append("]");
    const size_t length = part_.size();
    part_.resize(length + JsonEvents::kPadding);
    if (try_read(part_.data(), length)) return;
    if (bytes != 0) return read_part(part, 0);
    read_bad(part);
  };
  // What follows the last whole event of a piece that is not valid is one bad event.
  if (!split_json_values(text, bytes, take)) ++to_->counts.bad;
}

void ChromePieceReader::read_bad(std::string_view text) {
  std::string repaired = "[" + repaired_json(text) + "]";
  const size_t length = repaired.size();
  repaired.resize(length + JsonEvents::kPadding);
  if (!try_read(repaired.data(), length)) ++to_->counts.bad;
}

ChromePieceReader::Mark ChromePieceReader::mark() const {
  Mark mark;
  for (size_t i = 0; i < to_->rows.size(); ++i) mark.rows.push_back(blocks_[i].size());
  mark.names = to_->names.size();
  mark.open = to_->open.size();
  mark.counts = to_->counts;
  mark.launching_row = to_->launching_row;
  return mark;
}

void ChromePieceReader::return_to(const Mark& mark) {
  for (size_t i = mark.rows.size(); i < to_->rows.size(); ++i) rows_.erase(to_->rows[i].pid + "\n" + to_->rows[i].tid);
  for (size_t i = 0; i < mark.rows.size(); ++i) blocks_[i].resize(mark.rows[i]);
  to_->rows.resize(mark.rows.size());
  to_->names.resize(mark.names);
  to_->open.resize(mark.open);
  to_->counts = mark.counts;
  to_->launching_row = mark.launching_row;
  recent_ = {};
}

// False: it is not valid JSON, and nothing was added.
bool ChromePieceReader::try_read(char* text, size_t size) {
  const Mark before = mark();
  if (json_.parse(text, size, [this](const JsonEvent& event) { visit(event); })) return true;
  return_to(before);
  return false;
}

}  // namespace kymo::import
