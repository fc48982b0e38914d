#include "ondemand/memory_output.h"

#include <sys/stat.h>

#include <optional>
#include <vector>

#include "analyze/memory/changes.h"
#include "analyze/memory/export.h"
#include "ondemand/clients.h"
#include "trace/loss_words.h"
#include "trace/reader.h"

namespace kymo::ondemand {
namespace {

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
  memory::export_profile(reader, file.path());
  written.path = file.path();
  written.bytes = profile_bytes(file.path());
  return written;
}

}  // namespace

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
