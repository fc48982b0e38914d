#include "convert/formats/export.h"

#include <utility>

#include "base/text.h"
#include "convert/export_stream.h"
#include "convert/formats/chrome.h"
#include "convert/formats/csv.h"
#include "convert/formats/perfetto.h"
#include "kymo/error.h"

namespace kymo::convert {

namespace {

using WriteFormat = WalkReport (*)(const trace::Reader&, ExportStream&);

struct Format {
  std::string_view ending;
  WriteFormat write;
};

constexpr Format kFormats[] = {
    {".json", write_chrome},
    {".pftrace", write_perfetto},
    {".perfetto-trace", write_perfetto},
    {".csv", write_csv},
};
constexpr std::string_view kCompressed = ".gz";
constexpr std::string_view kSpeedscope = ".speedscope.json";  // `kymo flame` writes it

std::string_view without_ending(std::string_view path, std::string_view ending) {
  return path.ends_with(ending) ? path.substr(0, path.size() - ending.size()) : path;
}

// Null if it is none of them.
const Format* format_of(std::string_view path) {
  const std::string_view plain = without_ending(path, kCompressed);
  if (plain.ends_with(kSpeedscope)) return nullptr;
  for (const Format& format : kFormats) {
    if (plain.size() > format.ending.size() && plain.ends_with(format.ending)) return &format;
  }
  return nullptr;
}

}  // namespace

bool is_export_path(std::string_view path) { return format_of(path) != nullptr; }

std::vector<trace::Problem> export_trace(const trace::Reader& reader, const std::string& path) {
  const Format* const format = format_of(path);
  if (format == nullptr && path.find(kSpeedscope) != path.npos)
    throw InvalidArgument(
        base::format("'{}' is a flame graph by its name: kymo flame TRACE -o {} writes it", path, path));
  if (format == nullptr) {
    throw InvalidArgument(
        base::format("cannot tell the format of '{}' from its name: let it end in .json (Chrome, Kineto), .pftrace or "
                     ".perfetto-trace (Perfetto), or .csv; with .gz after it, the file is compressed",
                     path));
  }
  FileStream file(path);
  if (!path.ends_with(kCompressed)) {
    WalkReport report = format->write(reader, file);
    file.finish();
    return std::move(report.problems);
  }
  GzipStream gzip(file);
  WalkReport report = format->write(reader, gzip);
  gzip.finish();
  return std::move(report.problems);
}

}  // namespace kymo::convert
