#include "symbols/function_starts.h"

#if KYMO_HAVE_DW

#include <elfutils/libdw.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "symbols/eh_frame_index.h"
#include "unwind/unwind_table.h"

namespace kymo::symbols {

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
