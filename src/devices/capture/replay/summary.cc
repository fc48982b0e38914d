#include "capture/replay/summary.h"

#include <map>
#include <set>
#include <tuple>

#include "capture/replay/replay.h"

namespace kymo::capture {

Summary summarise(const CaptureFile& capture) {
  Summary summary;
  std::map<std::tuple<bool, std::string, uint32_t>, CallSummary> calls;
  std::set<std::pair<uint32_t, uint32_t>> streams;
  uint64_t next_call = 0;
  const auto add = [&](const Record& record, const Tables& tables, uint32_t shader) {
    const CallName name = name_of_call(record, tables);
    CallSummary& call = calls[{!name.is_kernel, name.name, shader}];
    call.name = name.name;
    call.is_kernel = name.is_kernel;
    call.shader = shader;
    ++call.calls;
    call.tensor_bytes += name.bytes;
    const uint64_t time = capture.device_times()[next_call++];
    call.device_ns += time;
    call.timed_calls += time != 0 ? 1 : 0;
  };
  const auto device_of = [](const TensorRef& tensor, const Tables& tables) {
    return tables.buffers[tensor.buffer].record.device;
  };
  capture.for_each([&](const Record& record, const Tables& tables) {
    if (const auto* buffer = std::get_if<BufferRecord>(&record)) {
      ++summary.buffers;
      summary.buffer_bytes += buffer->bytes;
    } else if (const auto* result = std::get_if<ResultRecord>(&record)) {
      summary.freed += result->freed ? 1 : 0;
    }
    std::visit(
        [&](const auto& call) {
          using Call = std::decay_t<decltype(call)>;
          if constexpr (std::is_same_v<Call, LaunchCall>) {
            const LibraryRecord& library = tables.libraries[tables.kernels[call.kernel].library];
            streams.emplace(library.device, call.stream);
            add(record, tables, library.shader);
          } else if constexpr (kIsCall<Call>) {
            if constexpr (requires { call.to; })
              streams.emplace(device_of(call.to, tables), call.stream);
            else
              streams.emplace(device_of(call.from, tables), call.stream);
            add(record, tables, 0);
          }
        },
        record);
  });
  for (auto& [key, call] : calls) summary.calls.push_back(std::move(call));
  summary.streams = streams.size();
  for (const FileEntry& file : capture.manifest().files) summary.stored_bytes += file.bytes;
  return summary;
}

}  // namespace kymo::capture
