#include "ondemand/trace_output.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "convert/chrome.h"
#include "convert/export.h"
#include "convert/export_stream.h"
#include "convert/perfetto.h"
#include "kymo/error.h"
#include "trace/reader.h"

namespace kymo::ondemand {
namespace {

bool is_converted(const std::string& path) {
  for (const char* ending : {".json", ".json.gz", ".pftrace", ".perfetto-trace", ".csv"})
    if (path.ends_with(ending)) return true;
  return false;
}

void convert_to(const std::string& path, const trace::Reader& reader, OutputForm form) {
  if (is_converted(path)) return convert::export_trace(reader, path);
  convert::FileStream sink(path);
  if (form == OutputForm::Perfetto)
    convert::write_perfetto(reader, sink);
  else
    convert::write_chrome(reader, sink);
  sink.finish();
}

WrittenTrace count_trace(const trace::Reader& reader) {
  WrittenTrace counted;
  for (const trace::EventChunk& chunk : reader.event_chunks())
    counted.events += uint64_t{chunk.range_count} + chunk.point_count;
  for (const auto& [id, writer] : reader.writers())
    for (const trace::Loss& loss : writer.losses) counted.losses += loss.count;
  return counted;
}

}  // namespace

WrittenTrace write_trace(OutputFile& file, const std::optional<collect::ClipOptions>& clip, OutputForm form) {
  WrittenTrace written;
  std::string whole = file.part();
  if (clip) {
    whole = file.reserve(".clip");
    const collect::Clipped clipped = collect::clip_file(file.part(), whole, *clip);
    written.events = clipped.events;
    written.losses = clipped.losses;
  }
  const bool convert = is_converted(file.path()) || (form != OutputForm::ByName && !file.path().ends_with(".kymo"));
  if (convert || !clip) {
    const trace::Reader reader(whole);
    if (!clip) written = count_trace(reader);
    if (convert) convert_to(file.path(), reader, form);
  }
  if (!convert) file.complete(whole);
  struct stat status {};
  if (stat(file.path().c_str(), &status) != 0)
    throw Error(base::format("{} is gone: {}", file.path(), std::strerror(errno)));
  written.path = file.path();
  written.bytes = static_cast<uint64_t>(status.st_size);
  return written;
}

}  // namespace kymo::ondemand
