#include "ondemand/trace_output.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "analyze/memory/changes.h"
#include "analyze/memory/export.h"
#include "base/text.h"
#include "convert/export_stream.h"
#include "convert/formats/chrome.h"
#include "convert/formats/export.h"
#include "ondemand/clients.h"
#include "trace/loss_words.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace kymo::ondemand {
namespace {

void convert_to(const std::string& path, const trace::Reader& reader) {
  if (convert::is_export_path(path)) {
    convert::export_trace(reader, path);
    return;
  }
  convert::FileStream sink(path);
  convert::write_chrome(reader, sink);
  sink.finish();
}

// Adds information that the recording does not contain yet.
void add_scope(const std::string& path, const TraceScope& scope) {
  const trace::Reader recorded(path, path, trace::Extent::Recorded);
  trace::Writer file(path, trace::Writer::Mode::Append);
  for (const auto& [id, writer] : recorded.writers()) {
    if (writer.window != scope.window) file.window(id, scope.window);
    if (scope.metadata.empty()) continue;
    trace::Origin origin = writer.origin;
    origin.metadata = scope.metadata;
    file.origin(id, origin);
  }
  file.close();
}

WrittenTrace count_trace(const trace::Reader& reader) {
  WrittenTrace counted;
  for (const trace::EventChunk& chunk : reader.event_chunks())
    counted.events += uint64_t{chunk.range_count} + chunk.point_count;
  for (const auto& [id, writer] : reader.writers()) counted.losses += trace::lost_events(writer.losses);
  return counted;
}

uint64_t profile_bytes(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

// Returns nothing if no allocations were recorded.
std::optional<WrittenTrace> write_own_profile(OutputFile& file) {
  const trace::Reader reader(file.part());
  if (memory::Changes(reader).next().empty()) return std::nullopt;
  if (file.path().ends_with(".kymo")) return write_trace(file, std::nullopt);
  WrittenTrace written;
  for (const trace::EventChunk& chunk : reader.event_chunks()) written.events += chunk.point_count;
  for (const auto& [id, writer] : reader.writers()) written.losses += trace::lost_events(writer.losses);
  file.complete([&](const std::string& path) { memory::export_profile(reader, path); });
  written.path = file.path();
  written.bytes = profile_bytes(file.path());
  return written;
}

}  // namespace

WrittenTrace write_trace(OutputFile& file, const std::optional<TraceScope>& scope, OutputForm form) {
  if (scope) add_scope(file.part(), *scope);
  const trace::Reader reader(file.part());
  WrittenTrace written = count_trace(reader);
  const bool is_other_form = form != OutputForm::ByName && !file.path().ends_with(".kymo");
  if (convert::is_export_path(file.path()) || is_other_form)
    file.complete([&](const std::string& path) { convert_to(path, reader); });
  else
    file.complete();
  struct stat status {};
  if (stat(file.path().c_str(), &status) != 0)
    throw Error(base::format("{} is gone: {}", file.path(), std::strerror(errno)));
  written.path = file.path();
  written.bytes = static_cast<uint64_t>(status.st_size);
  return written;
}

NothingAllocated::NothingAllocated()
    : Error(
          "no allocations were recorded: start the program with LD_PRELOAD=libkymo_malloc.so to record its heap, or "
          "report allocations with kymo_allocation()") {}

void check_memory_name(const std::string& path) { memory::check_profile_name(path); }

WrittenTrace write_memory_profile(OutputFile& file) {
  std::optional<WrittenTrace> written = write_own_profile(file);
  const std::vector<std::string> others = all_clients().export_memory_profile(file.path());
  if (written) return *written;
  if (others.empty()) throw NothingAllocated();
  written.emplace();
  written->path = others.front();
  written->bytes = profile_bytes(others.front());
  return *written;
}

}  // namespace kymo::ondemand
