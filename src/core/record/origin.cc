#include "record/origin.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <string_view>

#include "base/run_variables.h"

namespace kymo::record {
namespace {

// The bytes of a file of /proc, in pieces.
template <class Take>
void read_file(const char* path, Take take) noexcept {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char piece[1024];
  while (true) {
    const ssize_t got = read(fd, piece, sizeof piece);
    if (got <= 0 || !take(std::string_view(piece, static_cast<size_t>(got)))) break;
  }
  close(fd);
}

// From /proc, because another thread may change `environ`. One variable after the other is put after those that are
// kept, and stays there if it is of interest.
void keep_variables(char* begin, size_t size) noexcept {
  if (size < 2) return;
  const size_t space = size - 2;  // for a zero of the last variable, and the empty string after it
  size_t kept = 0, end = 0;
  bool fits = true;
  read_file("/proc/self/environ", [&](std::string_view piece) {
    for (const char byte : piece) {
      if (byte != '\0') {
        fits = fits && end < space;
        if (fits) begin[end++] = byte;
        continue;
      }
      if (fits && base::describes_run({begin + kept, end - kept})) {
        begin[end++] = '\0';
        kept = end;
      }
      end = kept;
      fits = true;
    }
    return true;
  });
  memset(begin + kept, 0, size - kept);
}

}  // namespace

void fill_origin(SegmentHeader& header) noexcept {
  const ssize_t executable = readlink("/proc/self/exe", header.origin, kOriginBytes - 1);
  size_t used = executable > 0 ? static_cast<size_t>(executable) : 0;
  header.origin[used++] = '\0';
  read_file("/proc/self/cmdline", [&](std::string_view piece) {
    const size_t taken = piece.size() < kOriginBytes - used ? piece.size() : kOriginBytes - used;
    memcpy(header.origin + used, piece.data(), taken);
    used += taken;
    return used < kOriginBytes;
  });
  header.origin[kOriginBytes - 1] = '\0';
  header.origin_bytes = static_cast<uint32_t>(used);
  keep_variables(header.origin + used, kOriginBytes - used);
}

}  // namespace kymo::record
