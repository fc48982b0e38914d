// The source tree and the build folder of a test. Both are found at run time, from the path of the test program. If the
// paths were compiled in, another clone could not use the compiler cache.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace kymo::base {

// built("lib/libkymo.so"): test programs are in bin/ of the build folder.
inline std::string built(const std::string& path) {
  static const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  return (folder / path).string();
}

// in_tree("docs/format.md"): CMake stores the path of the sources in the build folder.
inline std::string in_tree(const std::string& path) {
  static const std::filesystem::path folder = [] {
    constexpr std::string_view kKey = "CMAKE_HOME_DIRECTORY:INTERNAL=";
    std::ifstream cache(built("CMakeCache.txt"));
    for (std::string line; std::getline(cache, line);)
      if (line.starts_with(kKey)) return line.substr(kKey.size());
    throw std::runtime_error(built("CMakeCache.txt") + " does not say where the sources are");
  }();
  return (folder / path).string();
}

}  // namespace kymo::base
