#include "analyze/memory/pickle.h"

#include <limits>

#include "base/utf8.h"

namespace kymo::memory {

namespace {

// The instructions of a pickle, which is a program for a stack machine.
enum Operation : unsigned char {
  kProtocol = 0x80,
  kMark = '(',
  kStop = '.',
  kEmptyDict = '}',
  kSetItems = 'u',
  kEmptyList = ']',
  kAppends = 'e',
  kByteNumber = 'K',
  kTwoByteNumber = 'M',
  kFourByteNumber = 'J',
  kLongNumber = 0x8a,
  kTrue = 0x88,
  kFalse = 0x89,
  kNone = 'N',
  kPair = 0x86,
  kText = 'X',
  kPut = 'q',
  kLongPut = 'r',
  kGet = 'h',
  kLongGet = 'j',
};

constexpr uint32_t kBatch = 1000;  // items that a reader keeps before it adds them to their list
constexpr size_t kMostTexts = 1'000'000;
constexpr size_t kMostTextBytes = 1 << 20;

}  // namespace

PickleWriter::PickleWriter(convert::ExportStream& sink) : sink_(sink) {
  byte(kProtocol);
  byte(2);
}

void PickleWriter::little_endian(uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) byte(static_cast<unsigned char>(value >> (8 * i)));
}

void PickleWriter::before_value() {
  if (open_.empty() || open_.back().is_dict) return;
  uint32_t& in_batch = open_.back().in_batch;
  if (in_batch == kBatch) {
    byte(kAppends);
    in_batch = 0;
    flush_if_large();
  }
  if (in_batch++ == 0) byte(kMark);
}

void PickleWriter::begin_dict() {
  before_value();
  byte(kEmptyDict);
  open_.push_back({true});
}

void PickleWriter::end_dict() {
  if (open_.back().in_batch != 0) byte(kSetItems);
  open_.pop_back();
}

void PickleWriter::begin_list() {
  before_value();
  byte(kEmptyList);
  open_.push_back({false});
}

void PickleWriter::end_list() {
  if (open_.back().in_batch != 0) byte(kAppends);
  open_.pop_back();
}

void PickleWriter::key(std::string_view name) {
  if (open_.back().in_batch++ == 0) byte(kMark);
  put_text(name);
}

void PickleWriter::number(uint64_t value) {
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    before_value();
    byte(kLongNumber);
    byte(9);  // a zero byte follows the value, so that it is not negative
    little_endian(value, 8);
    byte(0);
  } else {
    number(static_cast<int64_t>(value));
  }
}

void PickleWriter::number(int64_t value) {
  before_value();
  if (value >= 0 && value <= 0xff) {
    byte(kByteNumber);
    little_endian(static_cast<uint64_t>(value), 1);
  } else if (value >= 0 && value <= 0xffff) {
    byte(kTwoByteNumber);
    little_endian(static_cast<uint64_t>(value), 2);
  } else if (value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max()) {
    byte(kFourByteNumber);
    little_endian(static_cast<uint64_t>(value), 4);
  } else {
    byte(kLongNumber);
    byte(8);
    little_endian(static_cast<uint64_t>(value), 8);
  }
}

void PickleWriter::boolean(bool value) {
  before_value();
  byte(value ? kTrue : kFalse);
}

void PickleWriter::none() {
  before_value();
  byte(kNone);
}

void PickleWriter::pair(uint64_t first, uint64_t second) {
  before_value();
  open_.push_back({true});  // the two numbers are not items of the open list
  number(first);
  number(second);
  open_.pop_back();
  byte(kPair);
}

void PickleWriter::text(std::string_view untrusted) {
  before_value();
  put_text(untrusted);
}

void PickleWriter::put_text(std::string_view untrusted) {
  const std::string_view valid = base::valid_utf8(untrusted.substr(0, kMostTextBytes), room_);
  if (const auto known = texts_.find(std::string(valid)); known != texts_.end()) return get(known->second);
  byte(kText);
  little_endian(valid.size(), 4);
  out_.append(valid);
  if (texts_.size() < kMostTexts) texts_.emplace(valid, share());
}

uint32_t PickleWriter::share() {
  const uint32_t number = next_share_++;
  byte(number <= 0xff ? kPut : kLongPut);
  little_endian(number, number <= 0xff ? 1 : 4);
  return number;
}

void PickleWriter::shared(uint32_t number) {
  before_value();
  get(number);
}

void PickleWriter::get(uint32_t number) {
  byte(number <= 0xff ? kGet : kLongGet);
  little_endian(number, number <= 0xff ? 1 : 4);
}

void PickleWriter::flush_if_large() {
  if (out_.size() < convert::kFlushAt) return;
  sink_.write(out_);
  out_.clear();
}

void PickleWriter::finish() {
  byte(kStop);
  sink_.write(out_);
  out_.clear();
}

}  // namespace kymo::memory
