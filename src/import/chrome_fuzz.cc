// A Chrome trace of any bytes is imported, and what was written can be read.
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "import/chrome.h"
#include "import/trace_builder.h"
#include "kymo/error.h"
#include "trace/reader.h"
#include "trace/writer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kymo;
  static const std::string path = [] {
    char name[] = "/tmp/kymo-import-fuzz-XXXXXX";
    const int fd = ::mkstemp(name);
    if (fd >= 0) ::close(fd);
    return std::string(name);
  }();
  import::ByteSource source = import::ByteSource::of_memory({reinterpret_cast<const char*>(data), size});
  import::TraceBuilder builder;
  try {
    const int64_t base = import::read_chrome(source, builder);
    if (builder.event_count() > size) __builtin_trap();
    trace::Writer writer(path, trace::Writer::Mode::Create);
    builder.write(writer, base, "fuzz");
    writer.close();
  } catch (const Error&) {
    return 0;
  }
  const trace::Reader reader(path);
  if (!reader.problems().empty()) __builtin_trap();
  trace::EventBatch batch;
  for (const trace::EventChunk& chunk : reader.event_chunks()) reader.read(chunk, batch);
  return 0;
}
