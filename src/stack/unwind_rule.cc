#include "stack/unwind_rule.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>

#include "stack/table_reader.h"

namespace kymo::stack {

// The compiler's run-time library finds the tables of an address, as it does for exceptions.
extern "C" {
struct dwarf_eh_bases {
  void* text;
  void* data;
  void* function;
};
const unsigned char* _Unwind_Find_FDE(void* address, dwarf_eh_bases* bases);
}

namespace {

#if defined(__aarch64__)
constexpr uint64_t kFramePointer = 29, kReturnAddress = 30, kStackPointer = 31;
#else
constexpr uint64_t kFramePointer = 6, kStackPointer = 7, kReturnAddress = 16;
#endif
constexpr int64_t kWord = sizeof(uintptr_t);

// What several functions have in common (a "CIE").
struct CommonTable {
  TableReader program{nullptr, nullptr};
  uint64_t code_unit = 1;
  int64_t data_unit = 1;
  uint8_t pointer_form = 0;  // of the addresses in a function's table
  bool has_extra = false;
};

// The entry at `at`: a length, then what it counts.
std::optional<TableReader> open_entry(const unsigned char* at) {
  uint32_t length;
  std::memcpy(&length, at, sizeof length);
  if (length == 0 || length == UINT32_MAX) return std::nullopt;  // the end; 64-bit tables, which nobody writes
  return TableReader{at + sizeof length, at + sizeof length + length};
}

size_t pointer_size(uint8_t form) {
  switch (form & 0x0f) {
    case 0x02:
    case 0x0a:
      return 2;
    case 0x03:
    case 0x0b:
      return 4;
    case 0x00:
    case 0x04:
    case 0x0c:
      return 8;
    default:
      return 0;
  }
}

std::optional<CommonTable> read_common(const unsigned char* at) {
  auto entry = open_entry(at);
  if (!entry) return std::nullopt;
  TableReader& reader = *entry;
  reader.number<uint32_t>();  // says that it is one
  const auto version = reader.number<uint8_t>();
  const auto* const augmentation = reinterpret_cast<const char*>(reader.at);
  while (reader.more() && reader.number<uint8_t>() != 0) continue;
  if (reader.failed || (version != 1 && version != 3)) return std::nullopt;

  CommonTable common;
  common.code_unit = reader.unsigned_number();
  common.data_unit = reader.signed_number();
  const uint64_t return_column = version == 1 ? reader.number<uint8_t>() : reader.unsigned_number();
  if (return_column != kReturnAddress) return std::nullopt;
  if (augmentation[0] == 'z') {
    common.has_extra = true;
    TableReader extra = reader;
    const uint64_t size = extra.unsigned_number();
    reader = extra;
    reader.skip(size);
    for (const char* letter = augmentation + 1; *letter != '\0'; ++letter) {
      if (*letter == 'R') {
        common.pointer_form = extra.number<uint8_t>();
      } else if (*letter == 'P') {
        const auto form = extra.number<uint8_t>();
        if (pointer_size(form) == 0) return std::nullopt;
        extra.skip(pointer_size(form));
      } else if (*letter == 'L') {
        extra.number<uint8_t>();
      } else if (*letter != 'B') {  // a key for signing return addresses; anything else is a signal's frame
        return std::nullopt;
      }
    }
  } else if (augmentation[0] != '\0') {
    return std::nullopt;
  }
  common.program = reader;
  if (reader.failed) return std::nullopt;
  return common;
}

// The state of the machine that tables are programs for, as far as it is of use here.
struct Registers {
  enum class Where : uint8_t { Same, Saved, Undefined, Elsewhere };
  struct Register {
    Where where = Where::Same;
    int64_t offset = 0;
  };
  uint64_t base = kStackPointer;
  int64_t base_offset = 0;
  bool base_known = false;
  Register frame_pointer, return_address;

  void set(uint64_t number, Where where, int64_t offset = 0) {
    if (number == kFramePointer) frame_pointer = {where, offset};
    if (number == kReturnAddress) return_address = {where, offset};
  }
  void restore(uint64_t number, const Registers& initial) {
    if (number == kFramePointer) frame_pointer = initial.frame_pointer;
    if (number == kReturnAddress) return_address = initial.return_address;
  }
};

// What a table's program is made of, as DWARF numbers it. In the first three the low six bits are a number.
enum Operation : uint8_t {
  kOpAdvanceLow = 0x40,
  kOpOffsetLow = 0x80,
  kOpRestoreLow = 0xc0,
  kOpNop = 0x00,
  kOpAdvance1 = 0x02,
  kOpAdvance2 = 0x03,
  kOpAdvance4 = 0x04,
  kOpOffset = 0x05,
  kOpRestore = 0x06,
  kOpUndefined = 0x07,
  kOpSameValue = 0x08,
  kOpInRegister = 0x09,
  kOpRememberState = 0x0a,
  kOpRestoreState = 0x0b,
  kOpDefineBase = 0x0c,
  kOpDefineBaseRegister = 0x0d,
  kOpDefineBaseOffset = 0x0e,
  kOpDefineBaseExpression = 0x0f,
  kOpExpression = 0x10,
  kOpSignedOffset = 0x11,
  kOpDefineBaseSigned = 0x12,
  kOpDefineBaseOffsetSigned = 0x13,
  kOpValueExpression = 0x16,
  kOpNegateSigned = 0x2d,  // the return address is signed from here on, or no longer
  kOpArgumentsSize = 0x2e,
};

// Runs the program up to the instruction `target` bytes into the function. False: something in it is not understood.
bool run_program(TableReader program, const CommonTable& common, uint64_t target, const Registers& initial,
                 Registers& registers) {
  using Where = Registers::Where;
  constexpr size_t kMostRemembered = 16;
  std::array<Registers, kMostRemembered> remembered;
  size_t remembered_count = 0;
  uint64_t location = 0;
  const auto scaled = [&](uint64_t number) { return static_cast<int64_t>(number) * common.data_unit; };
  while (program.more()) {
    const auto byte = program.number<uint8_t>();
    const uint8_t low = byte & 0x3f;
    uint64_t advance = 0;
    switch (byte & 0xc0 ? byte & 0xc0 : byte) {
      case kOpAdvanceLow:
        advance = low;
        break;
      case kOpOffsetLow:
        registers.set(low, Where::Saved, scaled(program.unsigned_number()));
        break;
      case kOpRestoreLow:
        registers.restore(low, initial);
        break;
      case kOpNop:
        break;
      case kOpAdvance1:
        advance = program.number<uint8_t>();
        break;
      case kOpAdvance2:
        advance = program.number<uint16_t>();
        break;
      case kOpAdvance4:
        advance = program.number<uint32_t>();
        break;
      case kOpOffset: {
        const uint64_t number = program.unsigned_number();
        registers.set(number, Where::Saved, scaled(program.unsigned_number()));
        break;
      }
      case kOpRestore:
        registers.restore(program.unsigned_number(), initial);
        break;
      case kOpUndefined:
        registers.set(program.unsigned_number(), Where::Undefined);
        break;
      case kOpSameValue:
        registers.set(program.unsigned_number(), Where::Same);
        break;
      case kOpInRegister: {
        registers.set(program.unsigned_number(), Where::Elsewhere);
        program.unsigned_number();
        break;
      }
      case kOpRememberState:
        if (remembered_count == kMostRemembered) return false;
        remembered[remembered_count++] = registers;
        break;
      case kOpRestoreState:
        if (remembered_count == 0) return false;
        registers = remembered[--remembered_count];
        break;
      case kOpDefineBase:
        registers.base = program.unsigned_number();
        registers.base_offset = static_cast<int64_t>(program.unsigned_number());
        registers.base_known = true;
        break;
      case kOpDefineBaseRegister:
        registers.base = program.unsigned_number();
        break;
      case kOpDefineBaseOffset:
        registers.base_offset = static_cast<int64_t>(program.unsigned_number());
        break;
      case kOpDefineBaseExpression:
        program.skip(program.unsigned_number());
        registers.base_known = false;
        break;
      case kOpExpression:
      case kOpValueExpression: {
        registers.set(program.unsigned_number(), Where::Elsewhere);
        program.skip(program.unsigned_number());
        break;
      }
      case kOpSignedOffset: {
        const uint64_t number = program.unsigned_number();
        registers.set(number, Where::Saved, program.signed_number() * common.data_unit);
        break;
      }
      case kOpDefineBaseSigned:
        registers.base = program.unsigned_number();
        registers.base_offset = program.signed_number() * common.data_unit;
        registers.base_known = true;
        break;
      case kOpDefineBaseOffsetSigned:
        registers.base_offset = program.signed_number() * common.data_unit;
        break;
      case kOpNegateSigned:
        break;
      case kOpArgumentsSize:
        program.unsigned_number();
        break;
      default:
        return false;
    }
    location += advance * common.code_unit;
    if (location > target) break;  // what follows is for later instructions
  }
  return !program.failed;
}

std::optional<int32_t> in_words(int64_t bytes) {
  if (bytes % kWord != 0 || bytes / kWord > INT32_MAX || bytes / kWord < INT32_MIN) return std::nullopt;
  return static_cast<int32_t>(bytes / kWord);
}

UnwindRule as_rule(const Registers& registers) {
  using Where = Registers::Where;
  UnwindRule rule;
  if (registers.return_address.where == Where::Undefined) {
    rule.kind = UnwindRule::Kind::Outermost;
    return rule;
  }
  const auto is_usual = [](const Registers::Register& one) {
    return one.where == Where::Saved ? one.offset != 0 : one.where == Where::Same;
  };
  const bool usual = registers.base_known && (registers.base == kStackPointer || registers.base == kFramePointer) &&
                     is_usual(registers.return_address) && is_usual(registers.frame_pointer);
  const auto caller = in_words(registers.base_offset), address = in_words(registers.return_address.offset),
             frame = in_words(registers.frame_pointer.offset);
  if (!usual || !caller || !address || !frame) return rule;
  rule.kind = registers.base == kStackPointer ? UnwindRule::Kind::FromStackPointer : UnwindRule::Kind::FromFramePointer;
  rule.frame_pointer_saved = registers.frame_pointer.where == Where::Saved;
  rule.caller_stack_at = *caller;
  rule.return_address_at = *address;
  rule.frame_pointer_at = *frame;
  return rule;
}

// Three distances of 20 bits, with their signs, above four bits for the rest.
constexpr unsigned kDistanceBits = 20;
constexpr int32_t kFarthest = 1 << (kDistanceBits - 1);

uint64_t packed_distance(int32_t distance, unsigned place) {
  return (static_cast<uint64_t>(distance) & ((uint64_t{1} << kDistanceBits) - 1)) << (4 + place * kDistanceBits);
}
int32_t unpacked_distance(uint64_t bits, unsigned place) {
  return static_cast<int32_t>(static_cast<int64_t>(bits << (60 - (place + 1) * kDistanceBits)) >> (64 - kDistanceBits));
}

}  // namespace

UnwindRule find_unwind_rule(uintptr_t return_address) noexcept {
  if (return_address == 0) return {};
  dwarf_eh_bases bases{};
  const unsigned char* const table = _Unwind_Find_FDE(reinterpret_cast<void*>(return_address - 1), &bases);
  if (table == nullptr) return {};
  auto entry = open_entry(table);
  if (!entry) return {};
  const unsigned char* const back_from = entry->at;
  const auto common = read_common(back_from - entry->number<uint32_t>());
  if (!common || pointer_size(common->pointer_form) == 0) return {};
  entry->skip(2 * pointer_size(common->pointer_form));  // where the function begins, and how long it is
  if (common->has_extra) entry->skip(entry->unsigned_number());

  Registers initial;
  if (!run_program(common->program, *common, UINT64_MAX, Registers{}, initial)) return {};
  Registers registers = initial;
  const uint64_t target = return_address - 1 - reinterpret_cast<uintptr_t>(bases.function);
  if (entry->failed || !run_program(*entry, *common, target, initial, registers)) return {};
  return as_rule(registers);
}

uint64_t packed(const UnwindRule& rule) noexcept {
  for (const int32_t distance : {rule.caller_stack_at, rule.return_address_at, rule.frame_pointer_at})
    if (distance >= kFarthest || distance < -kFarthest) return 0;
  return static_cast<uint64_t>(rule.kind) | uint64_t{rule.frame_pointer_saved} << 3 |
         packed_distance(rule.caller_stack_at, 0) | packed_distance(rule.return_address_at, 1) |
         packed_distance(rule.frame_pointer_at, 2);
}

UnwindRule unpacked(uint64_t bits) noexcept {
  UnwindRule rule;
  rule.kind = static_cast<UnwindRule::Kind>(bits & 7);
  rule.frame_pointer_saved = (bits & 8) != 0;
  rule.caller_stack_at = unpacked_distance(bits, 0);
  rule.return_address_at = unpacked_distance(bits, 1);
  rule.frame_pointer_at = unpacked_distance(bits, 2);
  return rule;
}

}  // namespace kymo::stack
