#include "convert/export.h"

#include <utility>

#include "base/text.h"
#include "convert/chrome.h"
#include "convert/csv.h"
#include "convert/export_stream.h"
#include "convert/perfetto.h"
#include "kymo/error.h"

namespace kymo::convert {

namespace {

using WriteFormat = WalkReport (*)(const trace::Reader&, ExportStream&);

struct Format {
  std::string_view ending;
  WriteFormat write;
  bool compressed = false;
};

constexpr Format kFormats[] = {
    {".json", write_chrome},      {".json.gz", write_chrome, true},
    {".pftrace", write_perfetto}, {".perfetto-trace", write_perfetto},
    {".csv", write_csv},
};

const Format& format_of(const std::string& path) {
  for (const Format& format : kFormats) {
    if (path.size() > format.ending.size() && path.ends_with(format.ending)) return format;
  }
  throw InvalidArgument(
      base::format("cannot tell the format of '{}' from its name: let it end in .json or .json.gz (Chrome, Kineto), "
                   ".pftrace or .perfetto-trace (Perfetto), or .csv",
                   path));
}

}  // namespace

std::vector<trace::Problem> export_trace(const trace::Reader& reader, const std::string& path) {
  const Format& format = format_of(path);
  FileStream file(path);
  if (!format.compressed) {
    WalkReport report = format.write(reader, file);
    file.finish();
    return std::move(report.problems);
  }
  GzipStream gzip(file);
  WalkReport report = format.write(reader, gzip);
  gzip.finish();
  return std::move(report.problems);
}

}  // namespace kymo::convert
