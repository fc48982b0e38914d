#include "convert/export_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cstring>

#include "base/output_path.h"
#include "base/text.h"
#include "kymo/error.h"
#include "trace/format.h"

namespace kymo::convert {

// ---- FileStream ----------------------------------------------------------------------------------------------------

void refuse_trace(const std::string& path) {
  const base::FileDescriptor there(
      open(base::output_path(path).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::array<std::byte, trace::kMagic.size()> beginning;
  if (!there || path.ends_with(".kymo") || base::read_at(there, path, 0, beginning) < beginning.size()) return;
  if (std::memcmp(beginning.data(), trace::kMagic.data(), beginning.size()) == 0)
    throw Error(base::format("cannot write {}: it is a Kymo trace; name another file", path));
}

FileStream::FileStream(const std::string& path) : file_(path) { refuse_trace(path); }

void FileStream::write(std::string_view bytes) { file_.write(base::as_bytes(bytes)); }

// ---- GzipStream ----------------------------------------------------------------------------------------------------

namespace {
// Traces repeat themselves so much that a higher level is several times slower and saves only a tenth of the size.
constexpr int kLevel = 2;
constexpr int kGzipWindow = 15 + 16;  // the largest window, plus the gzip header
constexpr int kMemoryLevel = 8;
constexpr size_t kLargestPiece = 1 << 30;  // zlib uses 32-bit sizes
}  // namespace

struct GzipStream::Stream {
  z_stream z{};
  std::array<char, 1 << 16> out;
};

GzipStream::GzipStream(ExportStream& below) : below_(below), stream_(std::make_unique<Stream>()) {
  if (deflateInit2(&stream_->z, kLevel, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw Error("cannot compress: zlib has no memory");
  }
}

GzipStream::~GzipStream() { deflateEnd(&stream_->z); }

void GzipStream::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kLargestPiece);
    deflate(piece, Z_NO_FLUSH);
    bytes.remove_prefix(piece.size());
  }
}

void GzipStream::finish() {
  deflate({}, Z_FINISH);
  below_.finish();
}

void GzipStream::deflate(std::string_view bytes, int flush) {
  z_stream& z = stream_->z;
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib does not write to it
  z.avail_in = static_cast<uInt>(bytes.size());
  do {
    z.next_out = reinterpret_cast<Bytef*>(stream_->out.data());
    z.avail_out = static_cast<uInt>(stream_->out.size());
    if (::deflate(&z, flush) == Z_STREAM_ERROR) throw Error("cannot compress: zlib refuses its own state");
    below_.write({stream_->out.data(), stream_->out.size() - z.avail_out});
  } while (z.avail_out == 0);
}

}  // namespace kymo::convert
