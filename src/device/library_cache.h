// Compiled code, kept: in memory while anyone uses it and for the last few sources, on disk for later processes. What
// is found there was neither translated nor compiled again.
//
// A source is compiled once, however many threads ask for it at the same time.
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

  // Lets go of what nobody uses; what is on disk stays.
  void forget();

 private:
  struct Entry {
    std::mutex mutex;  // held while it is compiled
    std::weak_ptr<LibraryState> library;
  };
  std::unique_ptr<Program> make(const Source& source, const CompileOptions& options, const std::string& key);
  std::unique_ptr<Program> compile(const Source& source, const CompileOptions& options);

  DeviceState& device_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>, std::less<>> entries_;  // by everything that went into the compiler
  std::deque<std::shared_ptr<LibraryState>> recent_;
};

}  // namespace kymo::device
