#include "import/pickle_reader.h"

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::import {
namespace {

using ValueType = PickleValue::Type;

// The instructions that are allowed.
namespace opcode {
enum : uint8_t {
  kMark = '(',
  kEmptyTuple = ')',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kFloat = 'G',
  kInt4 = 'J',
  kInt1 = 'K',
  kInt2 = 'M',
  kNone = 'N',
  kText4 = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kGet1 = 'h',
  kGet4 = 'j',
  kList = 'l',
  kPut1 = 'q',
  kPut4 = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kDict = 'd',
  kProtocol = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTrue = 0x88,
  kFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kText1 = 0x8c,
  kText8 = 0x8d,
  kMemoize = 0x94,
  kFrame = 0x95,
};
}  // namespace opcode

constexpr uint8_t kOldestProtocol = 2, kNewestProtocol = 5;  // protocols

PickleValue number_value(ValueType type, int64_t number) {
  PickleValue value;
  value.type = type;
  value.number = number;
  return value;
}
PickleValue container_value(ValueType type, size_t container) {
  PickleValue value;
  value.type = type;
  value.container = static_cast<uint32_t>(container);
  return value;
}

[[noreturn]] void refuse_pickle(std::string_view why) { throw Error(base::format("the pickle is not valid: {}", why)); }

}  // namespace

bool looks_like_pickle(std::string_view head) {
  if (head.size() < 3 || static_cast<uint8_t>(head[0]) != opcode::kProtocol) return false;
  const auto protocol = static_cast<uint8_t>(head[1]), first = static_cast<uint8_t>(head[2]);
  return protocol >= kOldestProtocol && protocol <= kNewestProtocol &&
         (first == opcode::kEmptyDict || first == opcode::kEmptyList || first == opcode::kFrame);
}

Pickle::Pickle(std::string_view bytes, size_t most_bytes) : bytes_(bytes), most_bytes_(most_bytes) {
  if (bytes.size() > UINT32_MAX) throw Error("the pickle is larger than 4 GiB");
  run();
  stack_ = {};
  memo_ = {};
}

std::span<const PickleValue> Pickle::items(const PickleValue& list) const {
  return list.is(ValueType::List) ? std::span<const PickleValue>(lists_[list.container])
                                  : std::span<const PickleValue>();
}

std::span<const std::pair<PickleValue, PickleValue>> Pickle::entries(const PickleValue& dict) const {
  if (!dict.is(ValueType::Dict)) return {};
  return dicts_[dict.container];
}

PickleValue Pickle::member(const PickleValue& dict, std::string_view key) const {
  const auto all = entries(dict);
  for (const auto& [name, value] : all.first(std::min(all.size(), kMostKeys)))
    if (name.is(ValueType::Text) && name.as_text() == key) return value;
  return {};
}

std::string_view Pickle::take(size_t count) {
  if (bytes_.size() - at_ < count) refuse_pickle("it is truncated");
  const std::string_view taken = bytes_.substr(at_, count);
  at_ += count;
  return taken;
}

uint64_t Pickle::take_number(size_t count) {
  const std::string_view bytes = take(count);
  uint64_t number = 0;
  for (size_t i = count; i > 0; --i) number = number << 8 | static_cast<uint8_t>(bytes[i - 1]);
  return number;
}

// A number that does not fit is None.
PickleValue Pickle::take_long(size_t count) {
  const std::string_view bytes = take(count);
  if (count == 0) return number_value(ValueType::Int, 0);
  const bool is_negative = (static_cast<uint8_t>(bytes.back()) & 0x80) != 0;
  uint64_t number = is_negative ? UINT64_MAX : 0;
  const auto fill = static_cast<char>(is_negative ? 0xFF : 0);
  for (size_t i = count; i > 0; --i) {
    if (i > 8 && bytes[i - 1] != fill) return {};
    if (i <= 8) number = number << 8 | static_cast<uint8_t>(bytes[i - 1]);
  }
  return number_value(ValueType::Int, static_cast<int64_t>(number));  // addresses above 2^63 are negative
}

PickleValue Pickle::take_text(uint64_t length) {
  if (length > bytes_.size()) refuse_pickle("it is truncated");
  const std::string_view text = take(static_cast<size_t>(length));
  PickleValue value = container_value(ValueType::Text, text.size());
  value.text = text.data();
  return value;
}

PickleValue Pickle::pop() {
  if (stack_.empty() || stack_.back().is(ValueType::Mark)) refuse_pickle("a value is missing");
  const PickleValue value = stack_.back();
  stack_.pop_back();
  return value;
}

size_t Pickle::mark() {
  size_t from = stack_.size();
  while (from > 0 && !stack_[from - 1].is(ValueType::Mark)) --from;
  if (from == 0) refuse_pickle("a mark is missing");
  return from;
}

void Pickle::charge(size_t bytes) {
  used_bytes_ += bytes;
  if (used_bytes_ <= most_bytes_) return;
  throw Error(
      base::format("its values need more than {} MiB of memory; record a shorter history (max_entries of "
                   "torch.cuda.memory._record_memory_history)",
                   most_bytes_ >> 20));
}

void Pickle::push(const PickleValue& value) {
  charge(sizeof value);
  stack_.push_back(value);
}

void Pickle::push_dict() {
  charge(sizeof dicts_[0]);
  dicts_.emplace_back();
  push(container_value(ValueType::Dict, dicts_.size() - 1));
}

void Pickle::push_list(size_t from) {
  charge(sizeof lists_[0] + (stack_.size() - from) * sizeof(PickleValue));
  lists_.emplace_back(stack_.begin() + static_cast<ptrdiff_t>(from), stack_.end());
  stack_.resize(from);
  push(container_value(ValueType::List, lists_.size() - 1));
}

// The values from `from` on go to the list below them.
void Pickle::append(size_t from) {
  const size_t below = from - (stack_[from - 1].is(ValueType::Mark) ? 1 : 0);
  if (below == 0 || !stack_[below - 1].is(ValueType::List)) refuse_pickle("there is no list to append to");
  std::vector<PickleValue>& list = lists_[stack_[below - 1].container];
  charge((stack_.size() - from) * sizeof(PickleValue));
  list.insert(list.end(), stack_.begin() + static_cast<ptrdiff_t>(from), stack_.end());
  stack_.resize(below);
}

void Pickle::set_items(size_t from) {
  const size_t below = from - (stack_[from - 1].is(ValueType::Mark) ? 1 : 0);
  if (below == 0 || !stack_[below - 1].is(ValueType::Dict)) refuse_pickle("there is no dictionary to add to");
  if ((stack_.size() - from) % 2 != 0) refuse_pickle("a key has no value");
  auto& dict = dicts_[stack_[below - 1].container];
  charge((stack_.size() - from) * sizeof(PickleValue));
  for (size_t i = from; i < stack_.size(); i += 2) dict.emplace_back(stack_[i], stack_[i + 1]);
  stack_.resize(below);
}

void Pickle::remember(uint64_t number) {
  if (stack_.empty() || stack_.back().is(ValueType::Mark)) refuse_pickle("a value is missing");
  if (number > at_) refuse_pickle("a number of a shared value is too large");  // each was written by a few bytes
  if (number >= memo_.size()) {
    charge((static_cast<size_t>(number) + 1 - memo_.size()) * sizeof(PickleValue));
    memo_.resize(static_cast<size_t>(number) + 1, container_value(ValueType::Mark, 0));
  }
  memo_[static_cast<size_t>(number)] = stack_.back();
}

void Pickle::recall(uint64_t number) {
  if (number >= memo_.size() || memo_[static_cast<size_t>(number)].is(ValueType::Mark))
    refuse_pickle("a shared value is missing");
  push(memo_[static_cast<size_t>(number)]);
}

void Pickle::run() {
  uint64_t next_memo = 0;
  const auto last = [this](size_t count) {
    if (stack_.size() < count) refuse_pickle("a value is missing");
    for (size_t i = stack_.size() - count; i < stack_.size(); ++i)
      if (stack_[i].is(ValueType::Mark)) refuse_pickle("a value is missing");
    return stack_.size() - count;
  };
  // Removes the mark below a value that was just made of all values above the mark.
  const auto drop_mark = [this] {
    const PickleValue value = stack_.back();
    stack_.pop_back();
    stack_.back() = value;
  };
  for (;;) {
    const auto operation = static_cast<uint8_t>(take(1)[0]);
    switch (operation) {
      case opcode::kProtocol:
        if (const uint64_t protocol = take_number(1); protocol < kOldestProtocol || protocol > kNewestProtocol)
          refuse_pickle(base::format("its protocol is {}; Kymo reads 2 to 5", protocol));
        break;
      case opcode::kFrame:
        take(8);
        break;
      case opcode::kStop:
        top_ = pop();
        return;
      case opcode::kMark:
        push(container_value(ValueType::Mark, 0));
        break;
      case opcode::kPop:
        if (stack_.empty()) refuse_pickle("a value is missing");
        stack_.pop_back();
        break;
      case opcode::kPopMark:
        stack_.resize(mark() - 1);
        break;
      case opcode::kNone:
        push({});
        break;
      case opcode::kTrue:
      case opcode::kFalse:
        push(number_value(ValueType::Bool, operation == opcode::kTrue));
        break;
      case opcode::kInt1:
        push(number_value(ValueType::Int, static_cast<int64_t>(take_number(1))));
        break;
      case opcode::kInt2:
        push(number_value(ValueType::Int, static_cast<int64_t>(take_number(2))));
        break;
      case opcode::kInt4:
        push(number_value(ValueType::Int, static_cast<int32_t>(take_number(4))));
        break;
      case opcode::kLong1:
        push(take_long(static_cast<size_t>(take_number(1))));
        break;
      case opcode::kLong4:
        push(take_long(static_cast<size_t>(take_number(4))));
        break;
      case opcode::kFloat: {
        uint64_t bits = 0;
        for (const char byte : take(8)) bits = bits << 8 | static_cast<uint8_t>(byte);
        PickleValue value;
        value.type = ValueType::Float;
        value.real = std::bit_cast<double>(bits);
        push(value);
        break;
      }
      case opcode::kText1:
        push(take_text(take_number(1)));
        break;
      case opcode::kText4:
        push(take_text(take_number(4)));
        break;
      case opcode::kText8:
        push(take_text(take_number(8)));
        break;
      case opcode::kEmptyList:
      case opcode::kEmptyTuple:
        push_list(stack_.size());
        break;
      case opcode::kList:
      case opcode::kTuple:
        push_list(mark());
        drop_mark();
        break;
      case opcode::kTuple1:
      case opcode::kTuple2:
      case opcode::kTuple3:
        push_list(last(operation - opcode::kTuple1 + size_t{1}));
        break;
      case opcode::kAppend:
        append(last(2) + 1);
        break;
      case opcode::kAppends:
        append(mark());
        break;
      case opcode::kEmptyDict:
        push_dict();
        break;
      case opcode::kDict: {
        const size_t from = mark();
        charge(sizeof dicts_[0] + sizeof(PickleValue));
        dicts_.emplace_back();
        stack_.insert(stack_.begin() + static_cast<ptrdiff_t>(from) - 1,
                      container_value(ValueType::Dict, dicts_.size() - 1));
        set_items(from + 1);
        break;
      }
      case opcode::kSetItem:
        set_items(last(3) + 1);
        break;
      case opcode::kSetItems:
        set_items(mark());
        break;
      case opcode::kPut1:
        remember(take_number(1));
        break;
      case opcode::kPut4:
        remember(take_number(4));
        break;
      case opcode::kMemoize:
        remember(next_memo++);
        continue;
      case opcode::kGet1:
        recall(take_number(1));
        break;
      case opcode::kGet4:
        recall(take_number(4));
        break;
      default:
        throw Error(
            base::format("the pickle has the instruction {:#04x} at byte {}, which is not part of plain data; "
                         "nothing of it was executed",
                         operation, at_ - 1));
    }
  }
}

}  // namespace kymo::import
