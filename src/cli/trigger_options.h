// The command line of `kymo trigger`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/selection_options.h"
#include "wire/tool_messages.h"

namespace kymo::cli {

struct TriggerOptions {
  wire::Trigger trigger;  // but for the output
  std::string output;     // as it was given; empty: default_output
  std::string socket;
  bool wait = true;
  bool json = false;
  bool quiet = false;
};

// Nothing: help was asked for, and given. Throws options::UsageError.
std::optional<TriggerOptions> read_trigger_options(const Arguments& arguments, uint64_t now_ns);

// What the end of a file's name asks for. Throws InvalidArgument for an ending that a trace, or a memory profile, is
// not written as.
wire::TraceFormat format_of_output(std::string_view output, bool is_memory_profile);

// The pattern for the daemon: absolute, seen from `folder`. Where none is given, a name that no trace has yet: in
// `folder`, or in the first of `allowed` where that lies below none of them.
std::string output_pattern(const TriggerOptions& options, const std::string& folder,
                           const std::vector<std::string>& allowed);

}  // namespace kymo::cli
