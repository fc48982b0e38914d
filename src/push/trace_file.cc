#include "push/trace_file.h"

#include <fcntl.h>

#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/hash.h"

namespace kymo::push {
namespace {

constexpr size_t kReadBytes = 1 << 20;

}  // namespace

uint64_t trace_number(const std::string& path) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw base::file_error("read", path, errno);
  // Each block starts with the hash of what is before it.
  std::vector<std::byte> block(sizeof(uint64_t) + kReadBytes);
  uint64_t number = 0;
  for (uint64_t offset = 0;;) {
    base::store(block.data(), number);
    const size_t got = base::read_at(file, path, offset, std::span(block).subspan(sizeof number));
    number = base::hash(base::Bytes(block.data(), sizeof number + got));
    offset += got;
    if (got < kReadBytes) return number;
  }
}

std::vector<uint64_t> all_trace_numbers(const trace::Reader& reader, const std::string& path) {
  std::vector<uint64_t> numbers{trace_number(path)};
  const RanksOfFile ranks = find_ranks(reader, numbers.front());
  if (ranks.has_several())
    for (const RankOfFile& rank : ranks.list) numbers.push_back(rank.number);
  return numbers;
}

TraceFile::TraceFile(std::string its_path)
    : path(std::move(its_path)), version(base::version_of_file(path)), number(trace_number(path)) {}

bool TraceFile::has_changed() const {
  try {
    return base::version_of_file(path) != version;
  } catch (const Error&) {
    return true;
  }
}

}  // namespace kymo::push
