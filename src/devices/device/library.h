// Compiled code of one source on one device, and its kernels.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/backend.h"
#include "device/device_state.h"
#include "kymo/shader.h"

namespace kymo::device {

struct KernelState {
  LibraryState* library = nullptr;
  uint32_t index = 0;     // in the program
  std::string_view name;  // kept for the life of the process: keep_name
  Site* site = nullptr;   // kept too
  const KernelInfo* info = nullptr;
};

// The source of a library.
struct LibrarySource {
  Language language;
  std::string text;
  CompileOptions options;
};

class LibraryState {
 public:
  // `source` is null for the runtime's own kernels.
  LibraryState(DeviceState& device, std::unique_ptr<Program> program, std::unique_ptr<const LibrarySource> source,
               std::string warnings);
  ~LibraryState();
  LibraryState(const LibraryState&) = delete;
  LibraryState& operator=(const LibraryState&) = delete;

  DeviceState& device() const { return device_; }
  const LibrarySource* source() const { return source_.get(); }
  // Null: no such kernel. Compiles it if the kernels are compiled one by one; throws as compile_shader() does.
  KernelState* find(std::string_view name);
  std::vector<std::string> kernel_names() const;
  const std::string& warnings() const { return warnings_; }

  bool is_valid() const { return program_ != nullptr; }  // the device was not reset since
  // For a launch, which must end before the program may be destroyed. Throws Error if the device was reset since.
  const Program& program();
  void drop_program();  // the device is about to be reset

 private:
  DeviceState& device_;
  const bool is_list_;             // its kernels are compiled one by one
  std::vector<KernelInfo> infos_;  // copies: they outlive the program
  std::unique_ptr<Program> program_;
  const std::unique_ptr<const LibrarySource> source_;
  const std::string warnings_;        // of the translator
  std::vector<KernelState> kernels_;  // by name
  std::atomic<bool> launched_{false};
  std::mutex mutex_;
  std::map<std::string_view, std::shared_ptr<LibraryState>> one_by_one_;  // of a list: the kernels that were asked for
};

// Cached compiled code: in memory while it is used and for the last few sources, on disk for later processes. Code that
// is found in the cache is neither translated nor compiled again.
//
// A Metal source with many kernels is translated as a whole, which finds its errors, but compiled kernel by kernel,
// when each is first used: drivers need much longer for their part.
//
// A source is compiled once, even if many threads ask for it at the same time.
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
