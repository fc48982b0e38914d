// Cached compiled code: in memory while it is used and for the last few sources, on disk for later processes. Code that
// is found in the cache is neither translated nor compiled again.
//
// A Metal source with many kernels is translated as a whole, which finds its errors, but compiled kernel by kernel,
// when each is first used: drivers need much longer for their part.
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
  // `only`: the one kernel of a Metal source that is compiled; empty: all of them.
  std::shared_ptr<LibraryState> get(std::string_view text, const CompileOptions& options, Owner owner = Owner::User,
                                    std::string_view only = {});

  // Drops the code that is not in use; the files on disk stay.
  void forget();

 private:
  struct Entry {
    std::mutex mutex;  // held during the compilation
    std::weak_ptr<LibraryState> library;
  };
  struct Compiled {
    std::unique_ptr<Program> program;
    std::string warnings;
  };
  Compiled make(const Source& source, const CompileOptions& options, const std::string& key);
  Compiled compile(const Source& source, const CompileOptions& options);

  DeviceState& device_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>, std::less<>> entries_;  // by everything that was passed to the compiler
  std::deque<std::shared_ptr<LibraryState>> recent_;
};

}  // namespace kymo::device
