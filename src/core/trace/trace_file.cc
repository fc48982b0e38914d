#include "trace/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/hash.h"
#include "base/text.h"

namespace kymo::trace {

TraceFile::TraceFile(const std::string& path, std::string name) : path_(std::move(name)) {
  // O_NONBLOCK: opening a pipe without a writer would block.
  file_ = base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file_) throw base::file_error("read", path_, errno);
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) throw base::file_error("read", path_, errno);
  if (S_ISDIR(status.st_mode)) {
    throw Error(base::format("cannot read {}: it is a directory; name the trace in it", path_));
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(base::format("cannot read {}: it is not a regular file; save what comes from it first", path_));
  }
}

base::Bytes TraceFile::read(uint64_t offset, std::span<std::byte> into) const {
  return into.first(base::read_at(file_, path_, offset, into));
}

std::optional<ChunkHeader> TraceFile::header_at(uint64_t offset) const {
  std::byte bytes[kHeaderBytes];
  return load_header(read(offset, bytes));
}

base::Bytes TraceFile::payload(const FoundChunk& chunk, std::vector<std::byte>& bytes) const {
  bytes.resize(chunk.header.payload_length);
  if (read(chunk.offset + chunk.header.header_length, bytes).size() != bytes.size()) {
    throw Error("the file ends in the middle of it");
  }
  if (base::hash(bytes) != chunk.header.payload_hash) throw Error("its hash is wrong: its bytes are not as written");
  return bytes;
}

}  // namespace kymo::trace
