#include "symbols/plt_stubs.h"

#if KYMO_HAVE_DW

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"

namespace kymo::symbols {

namespace {

template <class Visit>
void for_sections(Elf* elf, Visit visit) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return;
  for (Elf_Scn* part = elf_nextscn(elf, nullptr); part != nullptr; part = elf_nextscn(elf, part)) {
    GElf_Shdr section;
    if (gelf_getshdr(part, &section) == nullptr) continue;
    if (const char* const name = elf_strptr(elf, names, section.sh_name)) visit(part, section, name);
  }
}

struct Relocation {
  std::string symbol;
  uint64_t addend = 0;
};
struct Relocations {
  std::unordered_map<uint64_t, Relocation> slots;  // by the address of the slot
  std::vector<uint64_t> lazy;                      // the slots of .rela.plt: a stub pushes an index
};

void read_relocations(Elf* elf, Elf_Scn* part, const GElf_Shdr& section, bool is_lazy, Relocations& into) {
  Elf_Data* const data = elf_getdata(part, nullptr);
  Elf_Scn* const symbol_part = elf_getscn(elf, section.sh_link);
  Elf_Data* const symbols = symbol_part != nullptr ? elf_getdata(symbol_part, nullptr) : nullptr;
  GElf_Shdr symbol_section{};
  if (symbol_part != nullptr) gelf_getshdr(symbol_part, &symbol_section);
  GElf_Rela one;
  for (int i = 0; data != nullptr && gelf_getrela(data, i, &one) != nullptr; ++i) {
    if (is_lazy) into.lazy.push_back(one.r_offset);
    GElf_Sym symbol;
    const auto number = static_cast<int>(GELF_R_SYM(one.r_info));
    const bool has_symbol = number != 0 && symbols != nullptr && gelf_getsym(symbols, number, &symbol) != nullptr;
    if (!has_symbol && !is_lazy) continue;
    const char* const name = has_symbol ? elf_strptr(elf, symbol_section.sh_link, symbol.st_name) : nullptr;
    into.slots.try_emplace(one.r_offset, Relocation{name != nullptr ? name : "", static_cast<uint64_t>(one.r_addend)});
  }
}

struct Jump {
  uint64_t begin, end;  // of the stub
  uint64_t slot;
};

// jmp *n(%rip), after endbr64 or without; or, with endbr64 and lazy binding, push $number; jmp.
std::vector<Jump> jumps_of_x86(std::span<const uint8_t> code, uint64_t address, uint64_t entry,
                               const std::vector<uint64_t>& lazy) {
  std::vector<Jump> jumps;
  if (entry != 8) entry = 16;
  for (uint64_t at = 0; at + entry <= code.size(); at += entry) {
    for (uint64_t i = at; i + 6 <= at + entry; ++i) {
      const bool is_jump = code[i] == 0xff && code[i + 1] == 0x25;
      const bool is_number = code[i] == 0x68 && i == at + 4 && code[at] == 0xf3;
      if (!is_jump && !is_number) continue;
      const auto number = base::load<uint32_t>(reinterpret_cast<const std::byte*>(&code[i + (is_jump ? 2 : 1)]));
      if (is_jump)
        jumps.push_back({address + at, address + at + entry,
                         address + i + 6 + static_cast<uint64_t>(int64_t{static_cast<int32_t>(number)})});
      else if (number < lazy.size())
        jumps.push_back({address + at, address + at + entry, lazy[number]});
      break;
    }
  }
  return jumps;
}

// adrp x16, page; ldr x17, [x16, n]; add x16, x16, n; br x17
std::vector<Jump> jumps_of_arm(std::span<const uint8_t> code, uint64_t address) {
  std::vector<Jump> jumps;
  uint64_t page = 0, slot = 0, begin = address;
  for (uint64_t i = 0; i + 4 <= code.size(); i += 4) {
    const auto word = base::load<uint32_t>(reinterpret_cast<const std::byte*>(&code[i]));
    if ((word & 0x9f00001f) == 0x90000010) {
      const uint64_t pages = (word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);
      page = (address + i) / 4096 * 4096 + ((pages ^ 1u << 20) - (1u << 20)) * 4096;
    } else if ((word & 0xffc003ff) == 0xf9400211) {
      slot = page + (word >> 10 & 0xfff) * 8;
    } else if (word == 0xd61f0220) {
      jumps.push_back({begin, address + i + 4, slot});
      begin = address + i + 4;
    }
  }
  return jumps;
}

}  // namespace

PltStubs::PltStubs(Dwfl_Module* module) : module_(module) {
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module, &bias);
  if (elf == nullptr) return;
  for_sections(elf, [&](Elf_Scn* part, const GElf_Shdr& section, std::string_view name) {
    if (section.sh_type == SHT_PROGBITS && (name == ".iplt" || name.starts_with(".plt")))
      sections_.push_back({section.sh_addr + bias, section.sh_addr + section.sh_size + bias, elf_ndxscn(part)});
  });
}

void PltStubs::read() {
  is_read_ = true;
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module_, &bias);
  GElf_Ehdr header;
  if (elf == nullptr || gelf_getehdr(elf, &header) == nullptr) return;
  Relocations relocations;
  for_sections(elf, [&](Elf_Scn* part, const GElf_Shdr& section, std::string_view name) {
    if (section.sh_type == SHT_RELA && (section.sh_flags & SHF_ALLOC) != 0)
      read_relocations(elf, part, section, name == ".rela.plt", relocations);
  });
  for (const Section& one : sections_) {
    Elf_Scn* const part = elf_getscn(elf, one.number);
    GElf_Shdr section;
    const Elf_Data* const data = part != nullptr ? elf_rawdata(part, nullptr) : nullptr;
    if (data == nullptr || data->d_buf == nullptr || gelf_getshdr(part, &section) == nullptr) continue;
    const std::span<const uint8_t> code(static_cast<const uint8_t*>(data->d_buf), data->d_size);
    for (const Jump& jump : header.e_machine == EM_AARCH64
                                ? jumps_of_arm(code, section.sh_addr)
                                : jumps_of_x86(code, section.sh_addr, section.sh_entsize, relocations.lazy)) {
      const auto relocation = relocations.slots.find(jump.slot);
      if (relocation == relocations.slots.end()) continue;
      stubs_.push_back({jump.begin + bias, jump.end + bias, relocation->second.symbol,
                        relocation->second.symbol.empty() ? relocation->second.addend + bias : 0});
    }
  }
  std::ranges::sort(stubs_, {}, &PltStub::begin);
}

const PltStub* PltStubs::at(uint64_t address) {
  const auto is_inside = [&](const Section& one) { return address >= one.begin && address < one.end; };
  if (std::ranges::none_of(sections_, is_inside)) return nullptr;
  if (!is_read_) read();
  const auto after = std::ranges::upper_bound(stubs_, address, {}, &PltStub::begin);
  return after != stubs_.begin() && address < std::prev(after)->end ? &*std::prev(after) : nullptr;
}

}  // namespace kymo::symbols

#endif
