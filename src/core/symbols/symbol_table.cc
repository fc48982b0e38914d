#include "symbols/symbol_table.h"

#if KYMO_HAVE_DW

#include <algorithm>

namespace kymo::symbols {

bool SymbolTable::is_worth_while(Dwfl_Module* module) {
  constexpr int kMany = 20'000;
  return dwfl_module_getsymtab(module) > kMany;
}

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
  const Symbol& symbol = *(after - 1);
  return symbol.end == symbol.begin || address < symbol.end ? symbol.name : nullptr;
}

}  // namespace kymo::symbols

#endif
