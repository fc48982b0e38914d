#include "capture/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/text.h"

namespace kymo::capture {
namespace {

constexpr size_t kGatherBytes = size_t{256} << 10;

}  // namespace

struct Checksum::State {
  XXH3_state_t xxh3;
};

Checksum::Checksum() : state_(new State) { XXH3_64bits_reset(&state_->xxh3); }
void Checksum::add(base::Bytes bytes) { XXH3_64bits_update(&state_->xxh3, bytes.data(), bytes.size()); }
uint64_t Checksum::value() const { return XXH3_64bits_digest(&state_->xxh3); }
void Checksum::Free::operator()(State* state) const { delete state; }

PieceHash hash_piece(base::Bytes bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

OutputFile::OutputFile(const base::FileDescriptor& folder, const std::string& name, std::string path)
    : path_(std::move(path)),
      file_(::openat(folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)) {
  if (!file_) throw WriteError(base::file_error("write", path_, errno).what());
}

void OutputFile::append(base::Bytes bytes) {
  checksum_.add(bytes);
  size_ += bytes.size();
  if (gathered_.size() + bytes.size() > kGatherBytes) {
    write(gathered_);
    gathered_.clear();
  }
  if (bytes.size() > kGatherBytes) return write(bytes);
  gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
}

void OutputFile::close() {
  write(gathered_);
  gathered_.clear();
  if (::close(file_.release()) != 0) throw WriteError(base::file_error("write", path_, errno).what());
}

void OutputFile::write(base::Bytes bytes) {
  if (bytes.empty()) return;
  size_t written = 0;
  const int failed = base::write_all(file_.get(), bytes, written);
  if (failed != 0) throw WriteError(base::file_error("write", path_, failed).what());
}

void append_file_header(OutputFile& file, std::string_view magic) {
  base::ByteWriter header;
  header.append(base::as_bytes(magic));
  header.fixed(kFormatVersion);
  header.fixed(uint32_t{0});
  file.append(header.bytes());
}

void check_file_header(base::Bytes untrusted, std::string_view magic, const std::string& path) {
  base::ByteReader in(untrusted);
  const auto found = untrusted.size() >= kFileHeaderBytes ? in.take(magic.size()) : base::Bytes();
  const auto wanted = base::as_bytes(magic);
  if (!std::equal(found.begin(), found.end(), wanted.begin(), wanted.end()))
    throw Error(base::format("{} is not a file of a capture: it does not begin with {}", path, magic));
  if (const auto version = in.fixed<uint32_t>(); version != kFormatVersion)
    throw Error(base::format("{} has format version {}; this Kymo reads version {}", path, version, kFormatVersion));
  if (in.fixed<uint32_t>() != 0) throw Error(base::format("{} is damaged: its header is wrong", path));
}

}  // namespace kymo::capture
