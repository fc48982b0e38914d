#include "import/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::import {

struct ByteSource::Gzip {
  static constexpr size_t kInput = 256 << 10;
  static constexpr int kAnyGzip = 15 + 16;  // the largest window, with a gzip header

  z_stream stream{};
  std::vector<unsigned char> input = std::vector<unsigned char>(kInput);
  bool ended = false;  // a member has ended; another one may follow

  Gzip() {
    if (inflateInit2(&stream, kAnyGzip) != Z_OK) throw Error("cannot start zlib: there is no memory for it");
  }
  ~Gzip() { inflateEnd(&stream); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
};

ByteSource::ByteSource(const std::string& path) : path_(path) {
  // O_NONBLOCK: opening a pipe without a writer would block.
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file_ < 0 && path == "-")
    throw Error("cannot read a trace from standard input: save it in a file first, and name the file");
  if (file_ < 0) throw Error(base::format("cannot read {}: {}", path, std::strerror(errno)));
  struct stat about {};
  if (::fstat(file_, &about) == 0 && S_ISREG(about.st_mode)) file_bytes_ = static_cast<uint64_t>(about.st_size);
  if (S_ISDIR(about.st_mode)) {
    ::close(file_);
    throw Error(base::format("cannot read {}: it is a folder; name the trace in it", path));
  }
  if (!S_ISREG(about.st_mode)) {
    ::close(file_);
    throw Error(base::format("cannot read {}: it is not a regular file; save what comes from it first", path));
  }
  unsigned char magic[2] = {};
  if (::pread(file_, magic, sizeof magic, 0) == sizeof magic && magic[0] == 0x1f && magic[1] == 0x8b)
    gzip_ = std::make_unique<Gzip>();
}

ByteSource ByteSource::of_memory(std::string_view bytes) {
  ByteSource source;
  source.memory_ = bytes;
  source.file_bytes_ = bytes.size();
  if (bytes.starts_with("\x1f\x8b")) source.gzip_ = std::make_unique<Gzip>();
  return source;
}

ByteSource::~ByteSource() {
  if (file_ >= 0) ::close(file_);
}

ByteSource::ByteSource(ByteSource&& other) noexcept { *this = std::move(other); }
ByteSource& ByteSource::operator=(ByteSource&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(damage_, other.damage_);
  std::swap(file_, other.file_);
  std::swap(memory_, other.memory_);
  std::swap(file_bytes_, other.file_bytes_);
  std::swap(position_, other.position_);
  std::swap(gzip_, other.gzip_);
  std::swap(on_read_, other.on_read_);
  return *this;
}

uint64_t ByteSource::file_position() const { return position_; }

size_t ByteSource::read_file(char* to, size_t size) {
  if (file_ < 0) {
    const size_t count = memory_.copy(to, size, position_);
    position_ += count;
    return count;
  }
  for (;;) {
    const ssize_t count = ::read(file_, to, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Error(base::format("cannot read {}: {}", path_, std::strerror(errno)));
    position_ += static_cast<uint64_t>(count);
    if (on_read_) on_read_(static_cast<uint64_t>(count));
    return static_cast<size_t>(count);
  }
}

size_t ByteSource::read(std::span<char> buffer) {
  size_t filled = 0;
  if (gzip_ == nullptr) {
    while (filled < buffer.size()) {
      const size_t count = read_file(buffer.data() + filled, buffer.size() - filled);
      if (count == 0) break;
      filled += count;
    }
    return filled;
  }
  z_stream& stream = gzip_->stream;
  while (filled < buffer.size() && damage_.empty()) {
    if (stream.avail_in == 0) {
      const size_t count = read_file(reinterpret_cast<char*>(gzip_->input.data()), gzip_->input.size());
      if (count == 0) {
        if (!gzip_->ended) damage_ = "the compressed data ends too early";
        break;
      }
      stream.next_in = gzip_->input.data();
      stream.avail_in = static_cast<uInt>(count);
    }
    if (std::exchange(gzip_->ended, false)) inflateReset(&stream);
    const size_t space = std::min<size_t>(buffer.size() - filled, 1u << 30);
    stream.next_out = reinterpret_cast<unsigned char*>(buffer.data() + filled);
    stream.avail_out = static_cast<uInt>(space);
    const int outcome = inflate(&stream, Z_NO_FLUSH);
    filled += space - stream.avail_out;
    if (outcome == Z_STREAM_END) {
      gzip_->ended = true;
    } else if (outcome != Z_OK && outcome != Z_BUF_ERROR) {
      damage_ = base::format("the compressed data is damaged ({})", stream.msg != nullptr ? stream.msg : "zlib");
    }
  }
  return filled;
}

std::string ByteSource::read_all() {
  constexpr size_t kStep = 1 << 20;
  std::string bytes;
  for (size_t count = 1; count != 0 && bytes.size() <= kMostInMemory;) {
    const size_t before = bytes.size();
    bytes.resize(before + std::max(kStep, before / 2));
    count = read(std::span(bytes).subspan(before));
    bytes.resize(before + count);
  }
  return bytes;
}

}  // namespace kymo::import
