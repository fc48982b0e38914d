// Cached compiled code: in memory while it is used and for the last few sources, on disk for later processes. Code that
// is found in the cache is neither translated nor compiled again.
//
// A source is compiled once, even if many threads ask for it at the same time.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "device/library.h"
#include "kymo/shader.h"

namespace kymo::device {

class LibraryCache {
 public:
  explicit LibraryCache(DeviceState& device) : device_(device) {}

  enum class Owner : uint8_t { User, Runtime };
  std::shared_ptr<LibraryState> get(std::string_view text, const CompileOptions& options, Owner owner = Owner::User);

  // Drops the code that is not in use; the files on disk stay.
  void forget();

 private:
  struct Entry {
    std::mutex mutex;  // held during the compilation
    std::weak_ptr<LibraryState> library;
  };
  std::unique_ptr<Program> make(const Source& source, const CompileOptions& options, const std::string& key);
  std::unique_ptr<Program> compile(const Source& source, const CompileOptions& options);

  DeviceState& device_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>, std::less<>> entries_;  // by everything that was passed to the compiler
  std::deque<std::shared_ptr<LibraryState>> recent_;
};

}  // namespace kymo::device
