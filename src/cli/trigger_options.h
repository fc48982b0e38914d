// The command line of `kymo trigger`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/hosts_options.h"
#include "cli/selection_options.h"
#include "wire/tool_messages.h"

namespace kymo::cli {

struct TriggerOptions {
  wire::Trigger trigger;  // except for the output
  std::string output;     // as it was given; empty: default_output
  std::string socket;
  bool wait = true;
  bool json = false;
  bool quiet = false;
  HostsOptions hosts;
  std::string fetch;  // the folder for the files of the hosts; empty: they stay there
};

// Returns nothing if help was printed. Throws options::UsageError.
std::optional<TriggerOptions> read_trigger_options(const Arguments& arguments, uint64_t now_ns);

// The format for a file extension. Throws InvalidArgument for an extension that a trace, or a memory profile, does not
// support.
wire::TraceFormat format_of_output(std::string_view output, wire::RequestKind kind);

// The absolute pattern for the daemon; relative patterns start at `folder`. Default: a name that no trace has yet, in
// `folder`, or in the first of `allowed` if `folder` is not below one of them.
std::string output_pattern(const TriggerOptions& options, const std::string& folder,
                           const std::vector<std::string>& allowed);

}  // namespace kymo::cli
