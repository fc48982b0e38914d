#include "cli/memory_library.h"

#include <cstdlib>
#include <fstream>
#include <utility>

#include "base/environment.h"
#include "base/text.h"
#include "cli/kymo_library.h"
#include "kymo/error.h"

namespace kymo::cli {
namespace {

constexpr const char* kMemoryLibrary = "libkymo_malloc.so";

}  // namespace

void check_allocator(const std::string& program) {
  // Without the two leading underscores: with them, this program itself would match.
  constexpr std::pair<std::string_view, std::string_view> kSanitizers[] = {
      {"asan_init", "AddressSanitizer"}, {"tsan_init", "ThreadSanitizer"}, {"msan_init", "MemorySanitizer"}};
  std::ifstream file(program, std::ios::binary);
  std::string piece(1 << 20, '\0'), text;
  bool is_first = true;
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    text.append(piece, 0, static_cast<size_t>(file.gcount()));
    if (std::exchange(is_first, false) && !text.starts_with("\x7f"
                                                            "ELF"))
      return;
    for (const auto& [symbol, name] : kSanitizers)
      if (text.find("__" + std::string(symbol)) != text.npos)
        throw NotAvailable(base::format(
            "{} is built with {}, which has its own allocator and does not work with another one: record it without "
            "--memory, or build it without the sanitizer",
            program, name));
    text.erase(0, text.size() - std::min<size_t>(text.size(), 16));  // a name may span two pieces
  }
}

std::vector<std::pair<std::string, std::string>> memory_environment(const std::string& mode) {
  std::string preload = find_kymo_library(kMemoryLibrary);
  // The linker reads both as separators, and there is no way to escape them.
  if (preload.find_first_of(" :") != std::string::npos)
    throw NotAvailable(
        base::format("{} cannot be loaded into programs: its path must not contain a space or a colon", preload));
  if (const char* others = base::environment("LD_PRELOAD"); others != nullptr && *others != '\0')
    preload.append(":").append(others);
  return {{"LD_PRELOAD", preload}, {"KYMO_MALLOC", mode}};
}

}  // namespace kymo::cli
