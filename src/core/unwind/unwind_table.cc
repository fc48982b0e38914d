#include "unwind/unwind_table.h"

#include "unwind/byte_reader.h"
#include "unwind/cfa_program.h"

namespace kymo::unwind {
namespace {

// How a table encodes a pointer: its format, and what it is relative to.
constexpr uint8_t kAbsolute = 0x00, kUnsigned2 = 0x02, kUnsigned4 = 0x03, kUnsigned8 = 0x04;
constexpr uint8_t kSigned2 = 0x0a, kSigned4 = 0x0b, kSigned8 = 0x0c;
constexpr uint8_t kFormat = 0x0f, kRelation = 0x70, kToHere = 0x10;
constexpr uint8_t kSearchTableEncoding = 0x3b;  // signed 4 bytes, relative to the beginning of the table

uint64_t read_encoded(ByteReader& bytes, uint8_t encoding) noexcept {
  const auto here = reinterpret_cast<uint64_t>(bytes.position());
  uint64_t value = 0;
  switch (encoding & kFormat) {
    case kAbsolute:
    case kUnsigned8:
    case kSigned8:
      value = bytes.fixed<uint64_t>();
      break;
    case kUnsigned2:
      value = bytes.fixed<uint16_t>();
      break;
    case kUnsigned4:
      value = bytes.fixed<uint32_t>();
      break;
    case kSigned2:
      value = static_cast<uint64_t>(int64_t{bytes.fixed<int16_t>()});
      break;
    case kSigned4:
      value = static_cast<uint64_t>(int64_t{bytes.fixed<int32_t>()});
      break;
    case 0x01:
      value = bytes.unsigned_leb();
      break;
    case 0x09:
      value = static_cast<uint64_t>(bytes.signed_leb());
      break;
    default:
      bytes.skip(~uint64_t{0});  // unknown encoding: makes the reader invalid from here on
  }
  return (encoding & kRelation) == kToHere ? here + value : value;
}

// The readable part of the segment that contains a table.
struct TableBounds {
  const uint8_t *begin = nullptr, *end = nullptr;
  bool hold(const uint8_t* at) const noexcept { return at >= begin && at < end; }
};

TableBounds bounds_at(const LoadedCode& code, uintptr_t address) noexcept {
  const ElfW(Phdr)* segment = segment_at(code, address, 1, PF_R);
  if (segment == nullptr) return {};
  const auto* begin = reinterpret_cast<const uint8_t*>(code.offset + segment->p_vaddr);
  return {begin, begin + segment->p_filesz};
}

// The entry of the function at `address` in the search table; null if there is none.
const uint8_t* search_table(const LoadedCode& code, uintptr_t address) noexcept {
  for (size_t i = 0; i < code.segment_count; ++i) {
    if (code.segments[i].p_type != PT_GNU_EH_FRAME) continue;
    const uintptr_t at = code.offset + code.segments[i].p_vaddr;
    if (segment_at(code, at, code.segments[i].p_memsz, PF_R) == nullptr) return nullptr;
    const auto* begin = reinterpret_cast<const uint8_t*>(at);
    ByteReader header(begin, begin + code.segments[i].p_memsz);
    const uint8_t version = header.byte(), frames_encoding = header.byte(), count_encoding = header.byte();
    if (version != 1 || header.byte() != kSearchTableEncoding) return nullptr;
    read_encoded(header, frames_encoding);
    const uint64_t count = read_encoded(header, count_encoding);
    struct Entry {
      int32_t function, description;
    };
    if (!header.good() || count == 0 || count > header.left() / sizeof(Entry)) return nullptr;
    const auto entry_at = [table = header.position()](uint64_t index) noexcept {
      Entry entry;
      memcpy(&entry, table + index * sizeof entry, sizeof entry);
      return entry;
    };
    const auto wanted = static_cast<int64_t>(address - at);
    uint64_t low = 0, high = count;  // finds the last entry whose function begins at or before the address
    while (high - low > 1) {
      const uint64_t middle = low + (high - low) / 2;
      (entry_at(middle).function <= wanted ? low : high) = middle;
    }
    return entry_at(low).function <= wanted ? begin + entry_at(low).description : nullptr;
  }
  return nullptr;
}

// The record at `at`, without its length. Empty if it does not fit.
ByteReader record_at(const uint8_t* at, const TableBounds& bounds) noexcept {
  constexpr uint32_t kLongRecord = 0xffffffff;  // marks a record of more than 4 GiB
  if (!bounds.hold(at)) return {at, at};
  ByteReader reader(at, bounds.end);
  const auto length = reader.fixed<uint32_t>();
  return length == kLongRecord ? ByteReader(at, at) : reader.part(length);
}

struct CommonPart {
  CfaProgram program{ByteReader(nullptr, nullptr), ByteReader(nullptr, nullptr)};
  bool has_extra = false, good = false;
};

CommonPart read_common(ByteReader reader) noexcept {
  CommonPart common;
  if (reader.fixed<uint32_t>() != 0) return common;
  const uint8_t version = reader.byte();
  if (version != 1 && version != 3) return common;
  const uint8_t* letters = reader.position();
  while (reader.good() && reader.byte() != 0) continue;
  if (!reader.good()) return common;
  common.program.code_factor = reader.unsigned_leb();
  common.program.data_factor = reader.signed_leb();
  const uint64_t column = version == 1 ? reader.byte() : reader.unsigned_leb();
  if (column != kReturnColumn) return common;
  if (*letters == 'z') {
    common.has_extra = true;
    const uint64_t extra_bytes = reader.unsigned_leb();
    ByteReader extra = reader.part(extra_bytes);
    for (++letters; *letters != 0; ++letters) {
      if (*letters == 'R')
        common.program.address_encoding = extra.byte();
      else if (*letters == 'L')
        extra.byte();
      else if (*letters == 'P')
        read_encoded(extra, extra.byte() & kFormat);
      else if (*letters != 'S' && *letters != 'B' && *letters != 'G')
        break;
    }
    if (!extra.good()) return common;
  } else if (*letters != 0) {
    return common;
  }
  common.program.common = reader;
  common.good = reader.good();
  return common;
}

// The last function that begins at or before an address.
struct DescribedFunction {
  CfaProgram program{ByteReader(nullptr, nullptr), ByteReader(nullptr, nullptr)};
  uint64_t length = 0;  // 0: there is none, or it cannot be read
  bool contains(uintptr_t address) const noexcept { return address - program.begin < length; }
};

DescribedFunction last_function(const LoadedCode& code, uintptr_t address) noexcept {
  const uint8_t* description = search_table(code, address);
  if (description == nullptr) return {};
  const TableBounds bounds = bounds_at(code, reinterpret_cast<uintptr_t>(description));
  ByteReader reader = record_at(description, bounds);
  const uint8_t* back_from = reader.position();
  const auto back = reader.fixed<uint32_t>();
  if (!reader.good() || back == 0 || back > back_from - bounds.begin) return {};
  const CommonPart common = read_common(record_at(back_from - back, bounds));
  if (!common.good) return {};

  DescribedFunction function{common.program};
  function.program.begin = read_encoded(reader, common.program.address_encoding);
  const uint64_t length = read_encoded(reader, common.program.address_encoding & kFormat);
  if (common.has_extra) reader.skip(reader.unsigned_leb());
  if (!reader.good()) return {};
  function.program.function = reader;
  function.length = length;
  return function;
}

// The system's code that a signal handler returns to. The address may be in any code, so the sanitizers must not check
// these reads.
__attribute__((no_sanitize("address", "thread"))) bool is_signal_trampoline(const LoadedCode& code,
                                                                            uintptr_t address) noexcept {
  if (segment_at(code, address, sizeof kSignalTrampoline, PF_R | PF_X) == nullptr) return false;
  const auto* instructions = reinterpret_cast<const volatile uint8_t*>(address);
  for (size_t i = 0; i < sizeof kSignalTrampoline; ++i)
    if (instructions[i] != kSignalTrampoline[i]) return false;
  return true;
}

}  // namespace

Rule find_rule(uintptr_t address, uintptr_t trampoline) noexcept {
  LoadedCode code;
  return find_loaded_code(address, code) ? find_rule_in(code, address, trampoline) : Rule{};
}

Rule find_rule_in(const LoadedCode& code, uintptr_t address, uintptr_t trampoline) noexcept {
  if (segment_at(code, address, 1, PF_X) == nullptr) return {};
  if (is_signal_trampoline(code, trampoline)) return {Rule::Kind::Signal};
  DescribedFunction function = last_function(code, address);
  if (function.contains(address)) return run_cfa_program(function.program, address);
  // Nothing calls from between two functions. Somebody has put the address of a function there, for the outermost
  // function to return to: makecontext does.
  function = last_function(code, trampoline);
  return function.contains(trampoline) && function.program.begin == trampoline ? Rule{Rule::Kind::End}
                                                                               : kByFramePointer;
}

}  // namespace kymo::unwind
