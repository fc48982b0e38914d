// Text that claims to be a config, the name of a file that goes into one, and a pattern of such names.
#include <string>

#include "wire/config.h"
#include "wire/dyno/test_dyno.h"
#include "wire/output_pattern.h"

namespace {

using namespace kymo;

void hold(bool promise) {
  if (!promise) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const wire::ConfigReading reading = wire::read_config(text);
  hold(reading.request.has_value() == reading.errors.empty());
  hold(reading.errors.size() <= wire::kConfigMaxNotes && reading.warnings.size() <= wire::kConfigMaxNotes);
  hold(reading.reason().find('\n') == std::string::npos);
  if (reading.request) {
    // A request that was read can be written again, and reads back the same.
    const auto again = wire::config_text(*reading.request);
    hold(again && *wire::read_config(*again).request == *reading.request);
    wire::output_path(*reading.request, 7);
    hold(static_cast<bool>(wire::check_start(*reading.request, size)) ==
         wire::check_start(*reading.request, size).reason().empty());
  }

  wire::GpuTraceOptions options;
  options.log_file = text;
  if (const auto config = wire::gputrace_config(options)) {
    const auto handed = wire::read_config(wire::handed_out_config(*config, 7));
    hold(handed.request && handed.request->output == text && handed.request->trace_id == "7");
  }

  const wire::OutputNames names{7, 9, std::string(text.substr(0, size / 2)), "host", std::string(text), "now"};
  wire::output_from_pattern(text, names).reason();
  const auto safe = wire::output_from_pattern("/a/{name}-{job}-{pid}", names);
  hold(safe && safe->find('/', 3) == std::string::npos);
  return 0;
}
