#include "symbols/module_functions.h"

#if KYMO_HAVE_DW

#include <dwarf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "symbols/debug_information.h"
#include "symbols/eh_frame_index.h"
#include "unwind/unwind_table.h"

namespace kymo::symbols {

// ---- Debug information ---------------------------------------------------------------------------------------------

namespace {

constexpr int kDeepest = 200;  // max depth of nested namespaces, or of functions inlined into each other

// Calls `visit` with each child, in the order of the file, until it returns false.
template <class Visit>
void for_children(Dwarf_Die& parent, Visit visit) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  for (Dwarf_Off before = dwarf_dieoffset(&parent); dwarf_dieoffset(&child) > before;) {
    before = dwarf_dieoffset(&child);
    if (!visit(child)) return;
    Dwarf_Die next;
    if (dwarf_siblingof(&child, &next) != 0) return;
    child = next;
  }
}

void add_functions(Dwarf_Die& parent, int depth, AddressRanges& functions) {
  if (depth > kDeepest) return;
  for_children(parent, [&](Dwarf_Die& child) {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
        functions.add(child);
        break;
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
        add_functions(child, depth + 1, functions);
        break;
      default:
        break;
    }
    return true;
  });
}

struct Place {
  std::string file;
  uint32_t line = 0;
};

// Returns an absolute path. A compiler may have stored a path that is relative to its working directory.
std::string whole_path(Dwarf_Die& unit, const char* path) {
  Dwarf_Attribute attribute;
  const char* folder = nullptr;
  if (path[0] != '/' && dwarf_attr(&unit, DW_AT_comp_dir, &attribute) != nullptr) folder = dwarf_formstring(&attribute);
  return folder != nullptr ? std::string(folder) + "/" + path : path;
}

Place place_in_code(Dwarf_Die& unit, Dwarf_Addr address) {
  Place place;
  Dwarf_Line* const line = dwarf_getsrc_die(&unit, address);
  if (line == nullptr) return place;
  if (const char* const file = dwarf_linesrc(line, nullptr, nullptr)) place.file = whole_path(unit, file);
  int number = 0;
  if (dwarf_lineno(line, &number) == 0 && number > 0) place.line = static_cast<uint32_t>(number);
  return place;
}

std::optional<Dwarf_Word> number_of(Dwarf_Die& die, unsigned kind) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(&die, kind, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0) return std::nullopt;
  return value;
}

// Where an inlined function was called.
Place place_of_call(Dwarf_Die& unit, Dwarf_Die& inlined) {
  Place place;
  if (const auto line = number_of(inlined, DW_AT_call_line); line && *line <= UINT32_MAX)
    place.line = static_cast<uint32_t>(*line);
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (const auto file = number_of(inlined, DW_AT_call_file);
      file && dwarf_getsrcfiles(&unit, &files, &count) == 0 && *file < count)
    if (const char* const name = dwarf_filesrc(files, *file, nullptr, nullptr)) place.file = whole_path(unit, name);
  return place;
}

std::string linkage_name(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (dwarf_attr_integrate(&die, kind, &attribute) != nullptr)
      if (const char* const mangled = dwarf_formstring(&attribute)) return demangled(mangled);
  return {};
}

// The entry of the declaration: the one that is inside of its namespace and class.
Dwarf_Die declaration_of(Dwarf_Die die) {
  constexpr int kLongestChain = 8;
  for (int i = 0; i < kLongestChain; ++i) {
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    if (dwarf_attr(&die, DW_AT_abstract_origin, &attribute) == nullptr &&
        dwarf_attr(&die, DW_AT_specification, &attribute) == nullptr)
      break;
    if (dwarf_formref_die(&attribute, &next) == nullptr) break;
    die = next;
  }
  return die;
}

// "work::(anonymous namespace)::Thing::" of an entry inside of these. Entries are in the order of the file, so the one
// that contains another is the last one before it. `levels` limits the functions around local ones.
std::string scope_of(Dwarf_Die& die, int levels) {
  std::string scope;
  Dwarf_Die at;
  if (dwarf_diecu(&die, &at, nullptr, nullptr) == nullptr) return scope;
  const Dwarf_Off wanted = dwarf_dieoffset(&die);
  bool is_local = false;
  for (int depth = 0; depth < kDeepest; ++depth) {
    Dwarf_Die inner;
    bool found = false;
    for_children(at, [&](Dwarf_Die& child) {
      if (dwarf_dieoffset(&child) > wanted) return false;
      inner = child;
      found = true;
      return true;
    });
    if (!found || dwarf_dieoffset(&inner) == wanted) break;
    at = inner;
    const int tag = dwarf_tag(&at);
    const char* const name = dwarf_diename(&at);
    if (tag == DW_TAG_namespace)
      scope += name != nullptr ? name : "(anonymous namespace)";
    else if (tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type)
      scope += name != nullptr ? name : is_local ? "{lambda}" : "{unnamed type}";
    else if (std::string linked = tag == DW_TAG_subprogram ? linkage_name(at) : std::string(); !linked.empty())
      scope = std::move(linked);
    else if (tag == DW_TAG_subprogram && name != nullptr) {
      Dwarf_Die declaration = declaration_of(at);
      if (levels > 0) scope = scope_of(declaration, levels - 1);
      scope += name;
    } else
      continue;
    is_local = is_local || tag == DW_TAG_subprogram;
    scope += "::";
  }
  return scope;
}

constexpr int kMaxLocalLevels = 4;

const std::string& function_name(Dwarf_Die& die, FunctionNames& names) {
  Dwarf_Die declaration = declaration_of(die);
  const auto [known, is_new] = names.try_emplace(declaration.addr);
  if (!is_new) return known->second;
  known->second = linkage_name(die);
  const char* const name = known->second.empty() ? dwarf_diename(&die) : nullptr;
  if (name != nullptr) known->second = scope_of(declaration, kMaxLocalLevels) + name;
  return known->second;
}

// Moves `scope` to the block or inlined function in it that contains the address. False: there is none.
bool step_into(Dwarf_Die& scope, Dwarf_Addr address) {
  bool found = false;
  Dwarf_Die inner;
  for_children(scope, [&](Dwarf_Die& child) {
    const int tag = dwarf_tag(&child);
    const bool has_code = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
                          tag == DW_TAG_catch_block;
    if (!has_code || dwarf_haspc(&child, address) != 1) return true;
    inner = child;
    found = true;
    return false;
  });
  if (found) scope = inner;
  return found;
}

}  // namespace

void AddressRanges::add(Dwarf_Die& die) {
  Dwarf_Addr base = 0, begin = 0, end = 0;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;)
    if (begin < end) ranges_.push_back({begin, end, dwarf_dieoffset(&die)});
}

void AddressRanges::sort() {
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

std::optional<Dwarf_Off> AddressRanges::at(Dwarf_Addr address) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                      [](Dwarf_Addr value, const Range& range) { return value < range.begin; });
  if (after == ranges_.begin() || address >= std::prev(after)->end) return std::nullopt;
  return std::prev(after)->offset;
}

AddressRanges functions_of(Dwarf_Die& unit) {
  AddressRanges functions;
  add_functions(unit, 0, functions);
  functions.sort();
  return functions;
}

AddressRanges units_of(Dwarf* dwarf) {
  AddressRanges units;
  Dwarf_Off next = 0;
  size_t header = 0;
  for (Dwarf_Off at = 0; dwarf_nextcu(dwarf, at, &next, &header, nullptr, nullptr, nullptr) == 0 && next > at;
       at = next) {
    Dwarf_Die unit;
    if (dwarf_offdie(dwarf, at + header, &unit) != nullptr) units.add(unit);
  }
  units.sort();
  return units;
}

std::vector<Frame> frames_in(Dwarf_Die& unit, Dwarf_Die& function, Dwarf_Addr address, FunctionNames& names) {
  std::vector<Dwarf_Die> scopes{function};  // only functions, outermost first
  Dwarf_Die scope = function;
  for (int depth = 0; depth < kDeepest && step_into(scope, address); ++depth)
    if (dwarf_tag(&scope) == DW_TAG_inlined_subroutine) scopes.push_back(scope);

  std::vector<Frame> frames;
  Place place = place_in_code(unit, address);
  for (size_t i = scopes.size(); i-- > 0;) {
    frames.push_back({function_name(scopes[i], names), std::move(place.file), place.line, {}, i > 0});
    if (i > 0) place = place_of_call(unit, scopes[i]);
  }
  return frames;
}

Frame line_in(Dwarf_Die& unit, Dwarf_Addr address) {
  Place place = place_in_code(unit, address);
  return {{}, std::move(place.file), place.line, {}, false};
}

// ---- Symbol table --------------------------------------------------------------------------------------------------

SymbolTable::SymbolTable(Dwfl_Module* module) {
  const int count = dwfl_module_getsymtab(module);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = 0;
    const char* const name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, nullptr, nullptr);
    if (name == nullptr || *name == '\0' || *name == '$' || section == SHN_UNDEF) continue;
    const unsigned char type = GELF_ST_TYPE(symbol.st_info);
    if (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC) continue;
    symbols_.push_back({address, address + symbol.st_size, name, GELF_ST_BIND(symbol.st_info) == STB_GLOBAL});
  }
  // If several symbols have one address, the one with the largest size is taken, then a global one.
  std::ranges::sort(symbols_, [](const Symbol& one, const Symbol& other) {
    if (one.begin != other.begin) return one.begin < other.begin;
    if (one.end != other.end) return one.end > other.end;
    return one.is_global > other.is_global;
  });
  const auto at_one_place = [](const Symbol& one, const Symbol& other) { return one.begin == other.begin; };
  symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), at_one_place), symbols_.end());
}

const char* SymbolTable::at(uint64_t address) const {
  const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::begin);
  if (after == symbols_.begin()) return nullptr;
  constexpr uint64_t kLongestWithoutSize = 4096;  // after it, assembler code has functions without symbols
  const Symbol& symbol = *(after - 1);
  const uint64_t end = symbol.end != symbol.begin ? symbol.end : symbol.begin + kLongestWithoutSize;
  return address < end ? symbol.name : nullptr;
}

// ---- Unwind tables -------------------------------------------------------------------------------------------------

namespace {

// How linkers encode the search table: a 4-byte pointer, a 4-byte count, and 4-byte pairs relative to the table.
constexpr uint8_t kHead[] = {1, 0x1b, 0x03, 0x3b};
constexpr size_t kCountAt = 8, kTableAt = 12;

struct Entry {
  int32_t function, description;
};

std::vector<GElf_Phdr> segments_of(Elf* elf) {
  size_t count = 0;
  std::vector<GElf_Phdr> segments;
  if (elf_getphdrnum(elf, &count) != 0) return segments;
  for (size_t i = 0; i < count; ++i)
    if (GElf_Phdr segment; gelf_getphdr(elf, static_cast<int>(i), &segment) != nullptr) segments.push_back(segment);
  return segments;
}

std::span<const uint8_t> bytes_of(Elf* elf, uint64_t file_offset, uint64_t bytes) {
  const Elf_Data* const data = elf_getdata_rawchunk(elf, static_cast<int64_t>(file_offset), bytes, ELF_T_BYTE);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const uint8_t*>(data->d_buf), data->d_size};
}

// Of the search table. Nothing if there is none.
std::vector<uint64_t> listed_starts(Elf* elf) {
  std::vector<uint64_t> starts;
  for (const GElf_Phdr& segment : segments_of(elf)) {
    if (segment.p_type != PT_GNU_EH_FRAME) continue;
    const std::span<const uint8_t> table = bytes_of(elf, segment.p_offset, segment.p_filesz);
    uint32_t count = 0;
    if (table.size() < kTableAt || std::memcmp(table.data(), kHead, sizeof kHead) != 0) continue;
    std::memcpy(&count, table.data() + kCountAt, sizeof count);
    if (count > (table.size() - kTableAt) / sizeof(Entry)) continue;
    for (size_t i = 0; i < count; ++i) {
      Entry entry;
      std::memcpy(&entry, table.data() + kTableAt + i * sizeof entry, sizeof entry);
      starts.push_back(segment.p_vaddr + static_cast<uint64_t>(int64_t{entry.function}));
    }
  }
  return starts;
}

// Of the unwind tables themselves: the linker makes no search table for static programs.
std::vector<uint64_t> described_starts(Elf* elf) {
  std::vector<uint64_t> starts;
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return starts;
  for (Elf_Scn* part = elf_nextscn(elf, nullptr); part != nullptr; part = elf_nextscn(elf, part)) {
    GElf_Shdr section;
    if (gelf_getshdr(part, &section) == nullptr || section.sh_type == SHT_NOBITS) continue;
    const char* const name = elf_strptr(elf, names, section.sh_name);
    if (name == nullptr || std::string_view(name) != ".eh_frame") continue;
    const auto table = std::as_bytes(bytes_of(elf, section.sh_offset, section.sh_size));
    for (const DescribedFunction& function : index_eh_frame({table.data(), table.size()}, section.sh_addr))
      starts.push_back(function.begin);
  }
  return starts;
}

}  // namespace

FunctionStarts::FunctionStarts(Dwfl_Module* module) : module_(module) {
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module, &bias);
  if (elf == nullptr) return;
  starts_ = listed_starts(elf);
  if (starts_.empty()) starts_ = described_starts(elf);
  for (uint64_t& start : starts_) start += bias;
  std::ranges::sort(starts_);
}

std::optional<uint64_t> FunctionStarts::at(uint64_t address) const {
  const auto after = std::ranges::upper_bound(starts_, address);
  return after == starts_.begin() ? std::nullopt : std::optional(*std::prev(after));
}

std::optional<std::pair<uint64_t, uint64_t>> FunctionStarts::around(uint64_t address) const {
  const auto after = std::ranges::upper_bound(starts_, address);
  if (after == starts_.begin()) return std::nullopt;
  Dwarf_Addr end = 0;
  dwfl_module_info(module_, nullptr, nullptr, &end, nullptr, nullptr, nullptr, nullptr);
  return std::pair(*std::prev(after), after == starts_.end() ? end : *after);
}

uint64_t FunctionStarts::code_of(uint64_t return_address) const {
  constexpr uint64_t kLongestBefore = 4;  // its tables begin with an instruction before it, because of the byte before
  const std::optional<uint64_t> start = at(return_address);
  if (!start || return_address - *start > kLongestBefore) return return_address - 1;
  if (is_signal_trampoline(return_address)) return return_address;
  if (*start != return_address) return return_address - 1;
  // A function begins here. The code before it is a call only if that is in a function too, and not between functions.
  GElf_Addr bias = 0;
  Dwarf_CFI* const tables = dwfl_module_eh_cfi(module_, &bias);
  Dwarf_Frame* frame = nullptr;
  const bool is_call = tables == nullptr || dwarf_cfi_addrframe(tables, return_address - 1 - bias, &frame) == 0;
  std::free(frame);
  return is_call ? return_address - 1 : return_address;
}

bool FunctionStarts::is_signal_trampoline(uint64_t address) const {
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module_, &bias);
  if (elf == nullptr) return false;
  for (const GElf_Phdr& segment : segments_of(elf)) {
    const uint64_t inside = address - bias - segment.p_vaddr;
    if (segment.p_type != PT_LOAD || inside >= segment.p_filesz) continue;
    const std::span<const uint8_t> code = bytes_of(elf, segment.p_offset + inside, sizeof unwind::kSignalTrampoline);
    return std::ranges::equal(code, unwind::kSignalTrampoline);
  }
  return false;
}

}  // namespace kymo::symbols

#endif
