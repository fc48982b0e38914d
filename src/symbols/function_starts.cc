#include "symbols/function_starts.h"

#if KYMO_HAVE_DW

#include <cstring>

namespace kymo::symbols {

namespace {

// How linkers encode the table: a 4-byte pointer, a 4-byte count, and 4-byte pairs relative to the table.
constexpr uint8_t kHead[] = {1, 0x1b, 0x03, 0x3b};
constexpr size_t kCountAt = 8, kTableAt = 12;

struct Entry {
  int32_t function, description;
};

}  // namespace

std::optional<uint64_t> function_start(Dwfl_Module* module, uint64_t address) {
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module, &bias);
  size_t segments = 0;
  if (elf == nullptr || elf_getphdrnum(elf, &segments) != 0) return std::nullopt;
  for (size_t i = 0; i < segments; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr || segment.p_type != PT_GNU_EH_FRAME) continue;
    const Elf_Data* const data =
        elf_getdata_rawchunk(elf, static_cast<int64_t>(segment.p_offset), segment.p_filesz, ELF_T_BYTE);
    if (data == nullptr || data->d_buf == nullptr || data->d_size < kTableAt) return std::nullopt;
    const auto* const bytes = static_cast<const uint8_t*>(data->d_buf);
    if (std::memcmp(bytes, kHead, sizeof kHead) != 0) return std::nullopt;
    uint32_t count = 0;
    std::memcpy(&count, bytes + kCountAt, sizeof count);
    if (count == 0 || count > (data->d_size - kTableAt) / sizeof(Entry)) return std::nullopt;
    const auto start_of = [&](size_t index) {
      Entry entry;
      std::memcpy(&entry, bytes + kTableAt + index * sizeof entry, sizeof entry);
      return segment.p_vaddr + bias + static_cast<uint64_t>(int64_t{entry.function});
    };
    size_t low = 0, high = count;  // finds the last function that begins at or before the address
    while (high - low > 1) {
      const size_t middle = low + (high - low) / 2;
      (start_of(middle) <= address ? low : high) = middle;
    }
    return start_of(low) <= address ? std::optional(start_of(low)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace kymo::symbols

#endif
