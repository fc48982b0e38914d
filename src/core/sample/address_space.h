// The code that is loaded in a process, as far as the kernel has reported it, and how to unwind it.
//
// Rules are cached by address. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sample/code_file.h"

namespace kymo::sample {

// Code in a process. The path is one in the process.
struct MappedFile {
  uint64_t begin = 0, end = 0;
  uint64_t file_offset = 0, inode = 0;
  std::string path, build_id;
};

// What a process that already runs has mapped as code: /proc/PID/maps. Empty if it has ended.
std::vector<MappedFile> mapped_code(pid_t pid);

// The addresses in a file that samples have: see CodeFile::sampled().
struct SampledCode {
  std::string path, build_id;
  std::string read_from;  // not the path if readers of the trace will not find it there
  std::set<uint64_t> offsets;
};

// The files that are open, shared by all processes.
class CodeFiles {
 public:
  // The file that is mapped in a process, also if it has been removed or replaced since. It must have this inode or
  // build id, if one is known (not 0, not empty). Null if it cannot be opened; the next call tries again.
  std::shared_ptr<CodeFile> find(pid_t pid, const MappedFile& mapped);
  // Valid as long as this object, because it has the files open.
  std::vector<SampledCode> sampled() const;

 private:
  std::map<std::tuple<std::string, uint64_t, std::string>, std::shared_ptr<CodeFile>> files_;
  std::vector<SampledCode> closed_;  // there were too many
};

// A file that is loaded: where its first byte is, and how many there are.
struct LoadedFile {
  uint64_t base = 0, size = 0;
  std::string path, build_id;
  std::shared_ptr<CodeFile> code{};  // null: it could not be opened
};

class AddressSpace {
 public:
  explicit AddressSpace(CodeFiles& files) : files_(&files) {}

  // Replaces what was mapped there before.
  void map(MappedFile mapped);
  void read_maps(pid_t pid);  // all that a process that already runs has mapped
  // True if the code of another file is or was mapped there: from then on, these addresses have another meaning.
  bool is_other_code(const MappedFile& mapped) const;
  bool is_known(const MappedFile& mapped) const;
  // What is known, but not among these any more.
  std::vector<MappedFile> missing_in(const std::vector<MappedFile>& mapped) const;
  // It is only what was there before: no code is at its addresses now.
  void unmap(const MappedFile& mapped);

  // A number for the meaning of a return address: it is the address itself, until other code is mapped there.
  uint64_t meaning_of(uint64_t return_address) const;

  // How to leave the frame of a return address. `pid` is any process with this memory that may still run.
  unwind::Rule rule(pid_t pid, uint64_t return_address);
  // The file with the code before this return address. Null: none that has a name.
  const LoadedFile* file_at(pid_t pid, uint64_t return_address);
  bool has_code_at(uint64_t address) const;
  // A path to the file with this code, if the one with its name is another file or does not exist, as for the code of
  // the kernel in a process. Empty: it is there, or it could not be opened when it was loaded.
  std::string path_if_lost(pid_t pid, uint64_t return_address);
  // The first code that was mapped, which is the program itself. Empty: nothing was.
  const std::string& program() const { return program_; }

 private:
  struct Mapping {
    MappedFile mapped;
    uint64_t generation = 0;  // how often other code had replaced code, anywhere, when it was mapped
    bool is_gone = false;     // it was unmapped
    bool is_resolved = false;
    uint64_t distance = 0;
    LoadedFile loaded;
  };
  struct KnownRule {
    uint64_t address = 0;
    unwind::Rule rule;
  };
  using Mappings = std::map<uint64_t, Mapping>;  // by their begin
  // The mappings that share addresses with this one: from the first to before the second.
  std::pair<Mappings::const_iterator, Mappings::const_iterator> overlap(const MappedFile& mapped) const;
  const Mapping* mapping_at(uint64_t address) const;
  Mapping* mapping_at(uint64_t address) { return const_cast<Mapping*>(std::as_const(*this).mapping_at(address)); }
  void resolve(pid_t pid, Mapping& mapping);

  CodeFiles* files_;
  Mappings mappings_;
  uint64_t generation_ = 0;
  std::vector<KnownRule> rules_;  // by hash; empty: none is known
  std::string program_;
};

}  // namespace kymo::sample
