#include "sample/lost_files.h"

#include <map>
#include <optional>
#include <string_view>

#include "sample/code_map.h"
#include "symbols/file_symbols.h"

namespace kymo::sample {

std::vector<std::pair<uint64_t, std::string>> names_in_lost_files(AddressSpace& code, pid_t pid,
                                                                  const std::set<uint64_t>& addresses) {
  constexpr size_t kMaxName = 1024;
  std::vector<std::pair<uint64_t, std::string>> names;
  symbols::FileSymbols symbols;
  std::optional<CodeMap> made;           // by the program itself
  std::map<uint64_t, std::string> lost;  // where to read a file, by its base; empty: it is still there
  for (const uint64_t address : addresses) {
    const LoadedFile* const file = code.file_at(pid, address);
    if (file == nullptr) {
      if (!made) made.emplace(CodeMap::of_process(pid));
      if (const std::string_view name = made->at(address - 1); !name.empty())
        names.emplace_back(address, name.substr(0, kMaxName));
      continue;
    }
    if (address < file->base) continue;
    const auto [entry, is_new] = lost.try_emplace(file->base);
    const std::string& path = entry->second;
    if (is_new) entry->second = code.path_if_lost(pid, address);
    if (path.empty()) continue;
    // The last frame is the function; the others are inlined there.
    std::string name = symbols.at_return_address(path, file->build_id, address - file->base).back().function;
    // A function without a name has that of the file, which is the number of a descriptor here.
    const std::string_view read_from = std::string_view(path).substr(path.rfind('/') + 1);
    if (name.starts_with(read_from) && name.substr(read_from.size()).starts_with('+'))
      name = file->path.substr(file->path.rfind('/') + 1) + name.substr(read_from.size());
    names.emplace_back(address, name.substr(0, kMaxName));
  }
  return names;
}

}  // namespace kymo::sample
