#include "cli/trace_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "base/file.h"
#include "base/output_path.h"
#include "base/text.h"
#include "kymo/error.h"
#include "trace/format.h"

namespace kymo::cli {
namespace {

const std::string& checked(const std::string& output, const std::vector<std::string>& inputs) {
  refuse_input(output, inputs);
  const std::string file = base::output_path(output);
  if (::access(file.c_str(), F_OK) != 0) return output;
  const base::FileDescriptor there(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!there) throw base::file_error("read", output, errno);
  std::array<std::byte, trace::kMagic.size()> beginning;
  const size_t length = base::read_at(there, output, 0, beginning);
  if (!std::equal(beginning.begin(), beginning.begin() + static_cast<std::ptrdiff_t>(length),
                  std::as_bytes(std::span(trace::kMagic)).begin()))
    throw Error(base::format("cannot write {}: it is there and is not a Kymo trace; name another file", output));
  return output;
}

}  // namespace

void refuse_input(const std::string& output, const std::vector<std::string>& inputs) {
  struct stat input {
  }, existing{};
  if (::stat(base::output_path(output).c_str(), &existing) != 0) return;
  for (const std::string& path : inputs) {
    if (::stat(path.c_str(), &input) == 0 && input.st_dev == existing.st_dev && input.st_ino == existing.st_ino)
      throw Error(base::format("cannot write {}: it is the trace that is read; name another file", output));
  }
}

TraceOutput::TraceOutput(const std::string& path, const std::vector<std::string>& inputs)
    : file_(checked(path, inputs)) {}

}  // namespace kymo::cli
