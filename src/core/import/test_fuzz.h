// For the fuzzers of importers: imports any bytes, and reads what was written.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "import/builder/trace_builder.h"
#include "import/byte_source.h"
#include "kymo/error.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace kymo::import::testing {

inline std::string temporary_file() {
  char name[] = "/tmp/kymo-import-fuzz-XXXXXX";
  const int fd = ::mkstemp(name);
  if (fd >= 0) ::close(fd);
  return name;
}

// `read` takes a ByteSource and a TraceBuilder.
template <typename Read>
int import_and_read(Read read, const uint8_t* data, size_t size) {
  static const std::string path = temporary_file();
  ByteSource source = ByteSource::of_memory({reinterpret_cast<const char*>(data), size});
  TraceBuilder builder;
  try {
    const int64_t base = read(source, builder);
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

}  // namespace kymo::import::testing
