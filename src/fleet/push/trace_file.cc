#include "push/trace_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "kymo/error.h"

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

std::vector<uint64_t> all_trace_numbers(trace::Reader& reader, const std::string& path) {
  const uint64_t number = trace_number(path);
  const RanksOfFile ranks = find_ranks(reader, number);
  std::set<uint64_t> numbers = {number};
  for (const RankOfFile& rank : ranks.list) numbers.insert({rank.number, rank.older});
  return {numbers.begin(), numbers.end()};
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

void TraceFile::find_processes(trace::Reader& reader) {
  const auto is_there = [&](const RankOfFile& rank) {
    const std::set<trace::WriterId>& some = rank.processes.empty() ? rank.helpers : rank.processes;
    return some.empty() || reader.writers().contains(*some.begin());
  };
  if (std::all_of(ranks.list.begin(), ranks.list.end(), is_there)) return;
  const RanksOfFile again = find_ranks(reader, number);
  for (RankOfFile& rank : ranks.list) {
    const auto found = std::find_if(again.list.begin(), again.list.end(),
                                    [&](const RankOfFile& other) { return other.number == rank.number; });
    if (found == again.list.end()) throw Error("it has other processes each time it is read; push its imported copy");
    rank.processes = found->processes;
    rank.helpers = found->helpers;
  }
}

}  // namespace kymo::push
