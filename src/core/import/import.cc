#include "import/import.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "import/builder/trace_builder.h"
#include "import/byte_source.h"
#include "import/chrome.h"
#include "import/nsys.h"
#include "import/perfetto.h"
#include "import/perfetto_packets.h"
#include "import/pickle_reader.h"
#include "import/snapshot.h"
#include "import/xplane.h"
#include "kymo/error.h"
#include "trace/format.h"
#include "trace/writer.h"

namespace kymo::import {

namespace {

bool looks_like_json(std::string_view head) {
  for (size_t at = 0; at < head.size(); ++at) {
    const char c = head[at];
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (at < 3 && (c == '\xEF' || c == '\xBB' || c == '\xBF')) continue;  // a byte order mark
    return c == '{' || c == '[';
  }
  return false;
}

// Why it has no format. Empty: it is of none that is known.
std::string special_case(const std::string& path) {
  std::array<char, trace::kMagic.size()> buffer{};
  const size_t size = ByteSource(path).read(buffer);
  if (size == 0) return "it is empty";
  const auto magic = std::as_bytes(std::span(trace::kMagic));
  if (std::ranges::equal(std::as_bytes(std::span(buffer)), magic))
    return "it is a Kymo trace already, which every command reads as it is";
  return {};
}

int64_t read(Format format, const std::string& path, TraceBuilder& builder, const ImportOptions& options) {
  ByteSource source(path);
  source.on_read(options.on_read);
  switch (format) {
    case Format::Chrome:
      return read_chrome_with(source, builder, {.range_values = options.range_values});
    case Format::Perfetto:
      return read_perfetto(source, builder);
    case Format::Nsys: {
      if (source.is_compressed()) throw Error("it is a compressed SQLite file; decompress it first (gunzip)");
      SqliteFile file(path);
      file.on_read(options.on_read);
      return read_nsys(file, builder);
    }
    case Format::Snapshot:
      return read_snapshot(source, builder);
    case Format::XPlane:
      return read_xplane(source, builder);
  }
  return 0;
}

}  // namespace

std::optional<Format> format_of(const std::string& path) {
  ByteSource source(path);
  std::array<char, kHeadBytes> buffer{};
  const std::string_view head(buffer.data(), source.read(buffer));
  if (head.empty() && source.is_compressed())
    throw Error(base::format("cannot read {}: {}", path,
                             source.damage().empty()
                                 ? "it is a gzip file with nothing in it: the program that wrote it wrote no trace"
                                 : source.damage()));
  if (SqliteFile::has_magic(head)) return Format::Nsys;
  if (looks_like_pickle(head)) return Format::Snapshot;
  if (looks_like_xplane(head)) return Format::XPlane;
  if (looks_like_perfetto(head)) return Format::Perfetto;
  if (looks_like_json(head)) return Format::Chrome;
  return std::nullopt;
}

const char* name_of(Format format) {
  switch (format) {
    case Format::Chrome:
      return "Chrome JSON trace";
    case Format::Perfetto:
      return "Perfetto trace";
    case Format::Nsys:
      return "Nsight Systems export";
    case Format::Snapshot:
      return "PyTorch memory snapshot";
    case Format::XPlane:
      return "JAX or TensorFlow profile";
  }
  return "trace";
}

Imported import_trace(const std::string& path, const std::string& output, const ImportOptions& options) {
  const std::optional<Format> format = format_of(path);
  if (!format) {
    if (const std::string why = special_case(path); !why.empty())
      throw Error(base::format("cannot import {}: {}", path, why));
    throw Error(
        base::format("cannot import {}: it is not a trace of a format that Kymo reads (Chrome or Kineto JSON, "
                     "Perfetto's format, both also compressed with gzip; an SQLite export of Nsight Systems; "
                     "a memory snapshot of PyTorch; a profile of JAX or TensorFlow, .xplane.pb)",
                     path));
  }
  TraceBuilder builder;
  int64_t base_ns = 0;
  try {
    base_ns = read(*format, path, builder, options);
  } catch (const Error& error) {
    throw Error(base::format("cannot import {}: {}", path, error.what()));
  }
  trace::Writer writer(output, trace::Writer::Mode::Append, options.output_name);
  builder.write(writer, base_ns, path);
  writer.close();
  return {*format, builder.event_count(), builder.lost_count()};
}

}  // namespace kymo::import
