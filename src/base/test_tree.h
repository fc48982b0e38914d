// Where a test finds the tree it was made from, and what was built with it.
//
// Both are looked up when the test runs, from the place of its own program: were they compiled in, no compiler's cache
// could be used by another clone.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace kymo::base {

// built("lib/libkymo.so"): test programs lie in bin/ of the build folder.
inline std::string built(const std::string& path) {
  static const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  return (folder / path).string();
}

// in_tree("docs/format.md"): CMake keeps where the sources of a build folder are.
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
