// The files of a capture: names, limits and headers that several parts share, their checksums, and a file while it is
// written. docs/capture.md is the specification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "kymo/error.h"

namespace kymo::capture {

inline constexpr std::string_view kFormatName = "kymo capture";
inline constexpr uint32_t kFormatVersion = 1;

// Each .bin file begins with its magic, the version and four bytes of 0.
inline constexpr std::string_view kCallsMagic = "KYMOCALL", kContentsMagic = "KYMODATA", kTimesMagic = "KYMOTIME";
inline constexpr size_t kFileHeaderBytes = 16;

inline constexpr std::string_view kManifestName = "manifest.json", kCallsName = "calls.bin",
                                  kContentsName = "contents.bin", kTimesName = "times.bin", kShadersName = "shaders";
inline constexpr std::string_view kSuffix = ".kycap";

// Contents are stored in pieces, so that the unchanged parts of a large buffer are stored once.
inline constexpr size_t kPieceBytes = size_t{1} << 20;
inline constexpr size_t kPieceHeaderBytes = 24;

// More than any real capture has, and small enough for a reader to accept.
inline constexpr uint64_t kMaxBufferBytes = uint64_t{1} << 44;
inline constexpr uint64_t kMaxCallsBytes = uint64_t{1} << 30;
inline constexpr size_t kMaxDevices = 1024, kMaxLibraries = size_t{1} << 20, kMaxOthers = size_t{1} << 26;
inline constexpr uint64_t kMaxShaderBytes = uint64_t{64} << 20;
inline constexpr uint64_t kMaxManifestBytes = uint64_t{64} << 20;

// XXH3 of data that comes in parts: 64 bits, for a whole file. It detects damage, not forgery.
class Checksum {
 public:
  Checksum();
  void add(base::Bytes bytes);
  uint64_t value() const;

 private:
  struct State;  // the library's
  struct Free {
    void operator()(State* state) const;
  };
  std::unique_ptr<State, Free> state_;
};

// 128 bits of XXH3, to compare pieces: two pieces with the same hash are treated as equal.
struct PieceHash {
  uint64_t low = 0, high = 0;
  bool operator==(const PieceHash&) const = default;
};
PieceHash hash_piece(base::Bytes bytes);

// The disk is full, the file is too large, or the folder is gone: nothing more can be written.
class WriteError : public Error {
 public:
  using Error::Error;
};

// One file while it is written: buffered in memory, written in large parts, with a running checksum.
class OutputFile {
 public:
  // Creates `name` (0600) in the folder; it must not exist. `path` is its name in messages. Throws WriteError, like all
  // functions here.
  OutputFile(const base::FileDescriptor& folder, const std::string& name, std::string path);

  void append(base::Bytes bytes);
  void close();  // writes the buffered data
  // Leaves the file as it is: in a forked child it belongs to the parent.
  void abandon() { file_.reset(); }

  uint64_t size() const { return size_; }
  uint64_t checksum() const { return checksum_.value(); }

 private:
  void write(base::Bytes bytes);

  std::string path_;
  base::FileDescriptor file_;
  std::vector<std::byte> gathered_;
  Checksum checksum_;
  uint64_t size_ = 0;
};

// The 16 bytes that each .bin file begins with.
void append_file_header(OutputFile& file, std::string_view magic);
// Throws Error if the header is different.
void check_file_header(base::Bytes untrusted, std::string_view magic, const std::string& path);

}  // namespace kymo::capture
