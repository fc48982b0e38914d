// The code that is loaded in a process, as far as the kernel has reported it, and how to unwind it.
//
// Rules are cached by address. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sample/code_file.h"

namespace kymo::sample {

// Code in a process. The path is one in the process.
struct MappedFile {
  uint64_t begin = 0, end = 0;
  uint64_t file_offset = 0, inode = 0;
  std::string path, build_id;
};

// The files that are open, shared by all processes.
class CodeFiles {
 public:
  // The file that is mapped in a process, also if it has been removed or replaced since. It must have this inode or
  // build id, if one is known (not 0, not empty). Null if it cannot be opened.
  std::shared_ptr<CodeFile> find(pid_t pid, const MappedFile& mapped);

 private:
  std::map<std::tuple<std::string, uint64_t, std::string>, std::shared_ptr<CodeFile>> files_;
};

// A file that is loaded: where its first byte is, and how many there are.
struct LoadedFile {
  uint64_t base = 0, size = 0;
  std::string path, build_id;
};

class AddressSpace {
 public:
  explicit AddressSpace(CodeFiles& files) : files_(&files) {}

  // Replaces what was mapped there before.
  void map(MappedFile mapped);
  // What a process that already runs has mapped: /proc/PID/maps. True if something was not known before.
  bool read_maps(pid_t pid);

  // How to leave the frame of a return address. `pid` is any process with this memory that may still run.
  unwind::Rule rule(pid_t pid, uint64_t return_address);
  // The file with the code before this return address. Null: none that has a name.
  const LoadedFile* file_at(pid_t pid, uint64_t return_address);
  bool has_code_at(uint64_t address) const;
  // A path to the file with this code, if the one with its name is another file or does not exist. Empty: it is there,
  // or it could not be opened when it was loaded.
  std::string path_if_lost(pid_t pid, uint64_t return_address);
  // The first code that was mapped, which is the program itself. Empty: nothing was.
  const std::string& program() const { return program_; }

 private:
  struct Mapping {
    MappedFile mapped;
    bool is_resolved = false;
    std::shared_ptr<CodeFile> file;
    uint64_t distance = 0;
    LoadedFile loaded;
  };
  struct KnownRule {
    uint64_t address = 0;
    unwind::Rule rule;
  };
  Mapping* mapping_at(uint64_t address);
  bool is_known(const MappedFile& mapped) const;
  void resolve(pid_t pid, Mapping& mapping);

  CodeFiles* files_;
  std::map<uint64_t, Mapping> mappings_;  // by their begin
  std::vector<KnownRule> rules_;          // by hash; empty: none is known
  std::string program_;
};

}  // namespace kymo::sample
