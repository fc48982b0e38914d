#include "unwind/unwind_table.h"

#include "unwind/byte_reader.h"

namespace kymo::unwind {

// ---- Programs ------------------------------------------------------------------------------------------------------

namespace {

// Where a caller's register was saved.
struct SavedAt {
  enum class How : uint8_t {
    Untouched,  // still in the register
    Lost,       // nowhere; for the return address this means the end of the stack
    ByCfa,      // at CFA + offset
    ByFramePointer,
    Other,  // in a place that a rule cannot express
  };
  How how = How::Untouched;
  int64_t offset = 0;
};

struct CfaRow {
  bool known = true;  // the next four fields define the CFA
  bool by_frame_pointer = false, loaded = false;
  int64_t cfa_offset = 0, cfa_added = 0;
  SavedAt frame_pointer, return_address;
};

constexpr unsigned kDeepestRemembered = 8;

// A number, or a register plus an offset, or the word at such an address plus a number.
struct Value {
  static constexpr uint64_t kNumber = ~uint64_t{0};
  uint64_t column = kNumber;
  int64_t offset = 0;
  bool is_loaded = false;
  int64_t added = 0;
};

// An expression of an unwind table at one code address. The registers are not known, but the address is. So the
// expression of GNU ld for its PLT, sp + 8 + ((pc & 15) >= 11) * 8, becomes sp + 8 or sp + 16.
class Expression {
 public:
  explicit Expression(uintptr_t address) noexcept : address_(address) {}

  // A number if the result is more than a Value, or the expression has jumps or other rare operations.
  Value evaluate(ByteReader bytes) noexcept {
    while (!bytes.at_end())
      if (!execute(bytes) || !bytes.good()) return {};
    return count_ == 1 ? values_[0] : Value{};
  }

 private:
  bool push(const Value& value) noexcept {
    if (count_ == kDeepest) return false;
    values_[count_++] = value;
    return true;
  }
  bool push_number(uint64_t number) noexcept { return push({Value::kNumber, static_cast<int64_t>(number)}); }
  bool push_register(uint64_t column, int64_t offset) noexcept {
    const bool is_address = column == kInstructionColumn;
    return is_address ? push_number(address_ + static_cast<uint64_t>(offset)) : push({column, offset});
  }
  bool add(uint64_t number) noexcept {
    if (count_ == 0) return false;
    int64_t& sum = values_[count_ - 1].is_loaded ? values_[count_ - 1].added : values_[count_ - 1].offset;
    sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + number);
    return true;
  }

  bool execute(ByteReader& bytes) noexcept {
    const uint8_t op = bytes.byte();
    if (op >= 0x30 && op <= 0x4f) return push_number(op - 0x30u);                        // DW_OP_lit0 …
    if (op >= 0x70 && op <= 0x8f) return push_register(op - 0x70u, bytes.signed_leb());  // DW_OP_breg0 …
    switch (op) {
      case 0x06: {  // DW_OP_deref
        if (count_ == 0 || values_[count_ - 1].column == Value::kNumber || values_[count_ - 1].is_loaded) return false;
        values_[count_ - 1].is_loaded = true;
        return true;
      }
      case 0x08:  // DW_OP_const1u
        return push_number(bytes.byte());
      case 0x0a:  // DW_OP_const2u
        return push_number(bytes.fixed<uint16_t>());
      case 0x10:  // DW_OP_constu
        return push_number(bytes.unsigned_leb());
      case 0x11:  // DW_OP_consts
        return push_number(static_cast<uint64_t>(bytes.signed_leb()));
      case 0x23:  // DW_OP_plus_uconst
        return add(bytes.unsigned_leb());
      case 0x96:  // DW_OP_nop
        return true;
      default:
        return combine(op);
    }
  }

  bool combine(uint8_t op) noexcept {
    if (count_ < 2) return false;
    const Value right = values_[--count_];
    Value& left = values_[count_ - 1];
    const auto one = static_cast<uint64_t>(left.offset), other = static_cast<uint64_t>(right.offset);
    if (right.column != Value::kNumber) {
      if (op != 0x22 || left.column != Value::kNumber) return false;
      left = right;
      return add(one);
    }
    if (op == 0x22) return add(other);      // DW_OP_plus
    if (op == 0x1c) return add(0 - other);  // DW_OP_minus
    if (left.column != Value::kNumber) return false;
    switch (op) {
      case 0x1a:  // DW_OP_and
        left.offset = static_cast<int64_t>(one & other);
        return true;
      case 0x24:  // DW_OP_shl
        left.offset = static_cast<int64_t>(other < 64 ? one << other : 0);
        return true;
      case 0x25:  // DW_OP_shr
        left.offset = static_cast<int64_t>(other < 64 ? one >> other : 0);
        return true;
      case 0x2a:  // DW_OP_ge
        left.offset = left.offset >= right.offset ? 1 : 0;
        return true;
      default:
        return false;
    }
  }

  static constexpr unsigned kDeepest = 8;
  uintptr_t address_;
  Value values_[kDeepest];
  unsigned count_ = 0;
};

class CfaMachine {
 public:
  explicit CfaMachine(const CfaProgram& program) noexcept : program_(program), location_(program.begin) {}

  Rule run(uintptr_t address) noexcept {
    address_ = address;
    bool fine = execute(program_.common, address);
    initial_ = row_;
    location_ = program_.begin;
    fine = fine && execute(program_.function, address);
    return fine ? rule() : kByFramePointer;
  }

 private:
  // Executes instructions until the row of `address` is complete. Returns false if the row cannot be computed.
  bool execute(ByteReader bytes, uintptr_t address) noexcept {
    while (!bytes.at_end() && location_ <= address) {
      const uint8_t op = bytes.byte();
      const uint8_t low = op & 0x3f;
      switch (op >> 6) {
        case 1:  // DW_CFA_advance_loc
          advance(low);
          break;
        case 2:  // DW_CFA_offset
          save(low, SavedAt::How::ByCfa, scaled(bytes.unsigned_leb()));
          break;
        case 3:  // DW_CFA_restore
          restore(low);
          break;
        default:
          if (!execute_long(low, bytes)) return false;
      }
      if (!bytes.good()) return false;
    }
    return true;
  }

  bool execute_long(uint8_t op, ByteReader& bytes) noexcept {
    switch (op) {
      case 0x00:  // DW_CFA_nop
      case 0x2d:  // DW_CFA_AARCH64_negate_ra_state: the return address is signed, which its own bits show
        return true;
      case 0x01:  // DW_CFA_set_loc
        return set_location(bytes);
      case 0x02:
        advance(bytes.byte());
        return true;
      case 0x03:
        advance(bytes.fixed<uint16_t>());
        return true;
      case 0x04:
        advance(bytes.fixed<uint32_t>());
        return true;
      case 0x0a:  // DW_CFA_remember_state
        if (remembered_count_ == kDeepestRemembered) return false;
        remembered_[remembered_count_++] = row_;
        return true;
      case 0x0b:  // DW_CFA_restore_state
        if (remembered_count_ == 0) return false;
        row_ = remembered_[--remembered_count_];
        return true;
      case 0x0e:  // DW_CFA_def_cfa_offset
        row_.cfa_offset = static_cast<int64_t>(bytes.unsigned_leb());
        return true;
      case 0x0f:  // DW_CFA_def_cfa_expression
        define_cfa_by(bytes.part(bytes.unsigned_leb()));
        return true;
      case 0x13:  // DW_CFA_def_cfa_offset_sf
        row_.cfa_offset = scaled(static_cast<uint64_t>(bytes.signed_leb()));
        return true;
      case 0x2e:  // DW_CFA_GNU_args_size
        bytes.unsigned_leb();
        return true;
      default:
        return execute_for_column(op, bytes.unsigned_leb(), bytes);
    }
  }

  // The instructions that begin with a column.
  bool execute_for_column(uint8_t op, uint64_t column, ByteReader& bytes) noexcept {
    switch (op) {
      case 0x05:  // DW_CFA_offset_extended
        save(column, SavedAt::How::ByCfa, scaled(bytes.unsigned_leb()));
        return true;
      case 0x06:  // DW_CFA_restore_extended
        restore(column);
        return true;
      case 0x07:  // DW_CFA_undefined
        save(column, SavedAt::How::Lost, 0);
        return true;
      case 0x08:  // DW_CFA_same_value
        save(column, SavedAt::How::Untouched, 0);
        return true;
      case 0x09:  // DW_CFA_register
      case 0x14:  // DW_CFA_val_offset
      case 0x15:  // DW_CFA_val_offset_sf
        bytes.unsigned_leb();
        save(column, SavedAt::How::Other, 0);
        return true;
      case 0x0c:  // DW_CFA_def_cfa
        define_cfa(column, static_cast<int64_t>(bytes.unsigned_leb()));
        return true;
      case 0x0d:  // DW_CFA_def_cfa_register
        define_cfa(column, row_.cfa_offset);
        return true;
      case 0x10:  // DW_CFA_expression
      case 0x16:  // DW_CFA_val_expression
        save_by(column, bytes.part(bytes.unsigned_leb()), op == 0x10);
        return true;
      case 0x11:  // DW_CFA_offset_extended_sf
        save(column, SavedAt::How::ByCfa, scaled(static_cast<uint64_t>(bytes.signed_leb())));
        return true;
      case 0x12:  // DW_CFA_def_cfa_sf
        define_cfa(column, scaled(static_cast<uint64_t>(bytes.signed_leb())));
        return true;
      case 0x2f:  // DW_CFA_GNU_negative_offset_extended
        save(column, SavedAt::How::ByCfa, scaled(0 - bytes.unsigned_leb()));
        return true;
      default:
        return false;
    }
  }

  // Unsigned arithmetic, which cannot overflow: a damaged table may contain any value.
  int64_t scaled(uint64_t value) const noexcept {
    return static_cast<int64_t>(value * static_cast<uint64_t>(program_.data_factor));
  }
  void advance(uint64_t units) noexcept { location_ += units * program_.code_factor; }

  bool set_location(ByteReader& bytes) noexcept {
    const auto here = reinterpret_cast<uintptr_t>(bytes.position());
    switch (program_.address_encoding) {
      case 0x00:  // absolute
        location_ = bytes.fixed<uintptr_t>();
        return true;
      case 0x1b:  // relative to here, 4 bytes
        location_ = here + static_cast<uintptr_t>(int64_t{bytes.fixed<int32_t>()});
        return true;
      default:
        return false;
    }
  }

  SavedAt* column_of(uint64_t column, CfaRow& row) const noexcept {
    if (column == kFramePointerColumn) return &row.frame_pointer;
    return column == kReturnColumn ? &row.return_address : nullptr;
  }
  void save(uint64_t column, SavedAt::How how, int64_t offset) noexcept {
    if (SavedAt* place = column_of(column, row_)) *place = {how, offset};
  }
  void restore(uint64_t column) noexcept {
    if (SavedAt* place = column_of(column, row_)) *place = *column_of(column, initial_);
  }

  void define_cfa(uint64_t column, int64_t offset) noexcept {
    row_.known = column == kStackPointerColumn || column == kFramePointerColumn;
    row_.by_frame_pointer = column == kFramePointerColumn;
    row_.loaded = false;
    row_.cfa_offset = offset;
    row_.cfa_added = 0;
  }

  void define_cfa_by(ByteReader expression) noexcept {
    const Value value = Expression(address_).evaluate(expression);
    define_cfa(value.column, value.offset);
    row_.loaded = value.is_loaded;
    row_.cfa_added = value.added;
  }
  void save_by(uint64_t column, ByteReader expression, bool is_address) noexcept {
    const Value value = Expression(address_).evaluate(expression);
    const bool fine = is_address && !value.is_loaded && value.column == kFramePointerColumn;
    save(column, fine ? SavedAt::How::ByFramePointer : SavedAt::How::Other, fine ? value.offset : 0);
  }

  static bool fits(int64_t offset) noexcept { return offset == static_cast<int32_t>(offset); }

  Rule rule() const noexcept {
    using How = SavedAt::How;
    Rule made{Rule::Kind::Table};
    if (row_.return_address.how == How::Lost) return {Rule::Kind::End};
    const bool returns = row_.return_address.how == How::ByCfa || row_.return_address.how == How::Untouched;
    if (!row_.known || !returns || !fits(row_.cfa_offset) || !fits(row_.return_address.offset) ||
        !fits(row_.frame_pointer.offset) || row_.cfa_added != static_cast<int16_t>(row_.cfa_added))
      return kByFramePointer;
    made.cfa_added = static_cast<int16_t>(row_.cfa_added);
    made.cfa_offset = static_cast<int32_t>(row_.cfa_offset);
    made.return_offset = static_cast<int32_t>(row_.return_address.offset);
    made.fp_offset = static_cast<int32_t>(row_.frame_pointer.offset);
    unsigned flags = 0;
    if (row_.by_frame_pointer) flags |= Rule::kCfaByFramePointer;
    if (row_.loaded) flags |= Rule::kCfaLoaded;
    if (row_.return_address.how == How::Untouched) flags |= Rule::kReturnInRegister;
    // If the caller's frame pointer cannot be restored, only a caller that needs it is affected: its stack is cut
    // there.
    if (row_.frame_pointer.how == How::ByCfa) flags |= Rule::kFramePointerSaved;
    if (row_.frame_pointer.how == How::ByFramePointer) flags |= Rule::kFramePointerSaved | Rule::kSavedByFramePointer;
    made.flags = static_cast<uint8_t>(flags);
    return made;
  }

  const CfaProgram& program_;
  uintptr_t location_, address_ = 0;
  CfaRow row_, initial_;
  CfaRow remembered_[kDeepestRemembered];
  unsigned remembered_count_ = 0;
};

}  // namespace

Rule run_cfa_program(const CfaProgram& program, uintptr_t address) noexcept { return CfaMachine(program).run(address); }

// ---- Tables --------------------------------------------------------------------------------------------------------

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

// Stubs through which code calls other files (the PLT). Not all linkers write unwind tables for them. They leave the
// stack and the return address as they found them. On x86-64, a stub begins with its jump.
__attribute__((no_sanitize("address", "thread"))) bool is_stub(const LoadedCode& code, uintptr_t address) noexcept {
  constexpr size_t kBytes = 8;
  if (segment_at(code, address, kBytes, PF_R | PF_X) == nullptr) return false;
  const auto* at = reinterpret_cast<const volatile uint8_t*>(address);
#if defined(__aarch64__)
  if (address % 4 != 0) return false;  // inside of an instruction: a return address
  const uint32_t instruction = uint32_t{at[0]} | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 | uint32_t{at[3]} << 24;
  return (instruction & 0x9f00001f) == 0x90000010 ||  // adrp x16, page
         (instruction & 0xffc003ff) == 0xf9400211 ||  // ldr x17, [x16, n]
         (instruction & 0xffc003ff) == 0x91000210 ||  // add x16, x16, n
         instruction == 0xd61f0220;                   // br x17
#else
  const size_t prefix = at[0] == 0xf3 && at[1] == 0x0f && at[2] == 0x1e && at[3] == 0xfa ? 4 : 0;  // endbr64
  const size_t bnd = at[prefix] == 0xf2 ? 1 : 0;
  return at[prefix + bnd] == 0xff && at[prefix + bnd + 1] == 0x25;  // jmp *n(%rip)
#endif
}
constexpr int32_t kWordBytes = sizeof(uintptr_t);
constexpr Rule kStub = kReturnColumn == 30 ? Rule{Rule::Kind::Table, Rule::kReturnInRegister}
                                           : Rule{Rule::Kind::Table, 0, 0, kWordBytes, -kWordBytes};

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
  if (is_stub(code, address)) return kStub;
  // Nothing calls from between two functions. Somebody has put the address of a function there, for the outermost
  // function to return to: makecontext does.
  function = last_function(code, trampoline);
  return function.contains(trampoline) && function.program.begin == trampoline ? Rule{Rule::Kind::End}
                                                                               : kByFramePointer;
}

}  // namespace kymo::unwind
