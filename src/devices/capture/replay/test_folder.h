// Shared by the tests of captures: an empty working folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "capture/test_capture.h"

namespace kymo::capture::tests {

namespace fs = std::filesystem;

// Creates an empty folder, which is the current folder while this object lives.
class InFolder {
 protected:
  InFolder() : before_(fs::current_path()) {
    std::string name = (fs::temp_directory_path() / "kymo-capture-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    fs::current_path(folder_);
  }
  ~InFolder() {
    fs::current_path(before_);
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path folder_;

 private:
  fs::path before_;
};

inline std::string contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const fs::path& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

// The text of the Error that the function throws.
template <class F>
std::string error_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace kymo::capture::tests
