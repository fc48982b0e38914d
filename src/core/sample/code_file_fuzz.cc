// A program file with arbitrary bytes: its segments, tables and rules.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "base/file.h"
#include "sample/code_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kymo;
  if (size < 8) return 0;
  uint64_t at = 0;
  std::memcpy(&at, data, sizeof at);
  base::FileDescriptor file(memfd_create("fuzz", MFD_CLOEXEC));
  size_t written = 0;
  if (!file || base::write_all(file.get(), std::as_bytes(std::span(data + 8, size - 8)), written) != 0) return 0;
  const auto code = sample::CodeFile::open(std::move(file));
  if (code == nullptr) return 0;
  for (uint64_t i = 0; i < 4; ++i) code->rule(code->first() + (at >> (16 * i)) % (code->size() + 2));
  code->distance(at, at);
  return 0;
}
