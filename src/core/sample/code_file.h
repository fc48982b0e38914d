// The unwind tables of a file that is loaded in another process.
//
// The memory looks like the loaded file, so that src/core/unwind can read it, but only the tables are filled in, and
// only when the first rule is needed: even for the largest libraries that is a few megabytes. Nothing is mapped from
// the file, so the file may be truncated at any time. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "unwind/loaded_code.h"
#include "unwind/rule_table.h"

namespace kymo::sample {

class CodeFile {
 public:
  // Null if it is not an ELF file for this processor, or cannot be read.
  static std::shared_ptr<CodeFile> open(base::FileDescriptor file);
  // The code that the kernel puts into every process.
  static std::shared_ptr<CodeFile> open_vdso();
  ~CodeFile();
  CodeFile(const CodeFile&) = delete;
  CodeFile& operator=(const CodeFile&) = delete;

  const std::string& build_id() const { return build_id_; }  // in hexadecimal; empty: none
  uint64_t inode() const { return inode_; }
  // True if this is the file with the path, and not a copy of it.
  bool is_at(const std::string& path) const;
  // To open it again, also if it has no path any more. As long as this object lives.
  std::string path_of_descriptor() const;
  uint64_t first() const { return first_; }  // addresses in the file: of its first byte, and how many there are
  uint64_t size() const { return size_; }

  // The distance from addresses in the file to those of a process that mapped this part of it as code.
  std::optional<uint64_t> distance(uint64_t mapped_at, uint64_t file_offset) const;

  // The offsets from its first byte of the return addresses that samples have in it, of all processes.
  void note_sample(uint64_t offset) { sampled_.insert(offset); }
  const std::set<uint64_t>& sampled() const { return sampled_; }

  // How to leave the frame of this return address, which is an address in the file.
  unwind::Rule rule(uint64_t return_address);

 private:
  CodeFile() = default;
  bool read_segments();
  void read_build_id();
  void read_tables();
  void make_table();
  bool fill(uint64_t address, uint64_t bytes);
  std::vector<ElfW(Shdr)> read_sections() const;
  uint64_t table_bytes(uint64_t address) const;

  base::FileDescriptor file_;
  uint64_t inode_ = 0, device_ = 0;
  std::vector<ElfW(Phdr)> segments_;
  ElfW(Ehdr) header_{};
  uint64_t first_ = 0, size_ = 0;
  std::string build_id_;
  std::byte* image_ = nullptr;
  uint64_t image_bytes_ = 0;
  unwind::LoadedCode code_;
  bool has_tables_ = false;
  std::set<uint64_t> sampled_;
};

}  // namespace kymo::sample
