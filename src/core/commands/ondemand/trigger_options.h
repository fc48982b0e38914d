// The options of `kymo trigger`, and those that other commands share with it: --pid, --name, --job, --all, --socket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "commands/ondemand/on_hosts.h"
#include "options/command_line.h"
#include "wire/message.h"

namespace kymo::cli {

// Throws kymo::InvalidArgument if the text is not a process id.
int32_t parse_pid(const std::string& text);

// The same for the number of a trigger, which is not 0.
uint64_t parse_trigger(const std::string& text);

struct SelectionOptions {
  wire::Selection selection;
  bool all = false;

  bool is_empty() const;  // no selection was given
};

// `offers_all`: adds --all, for commands that need a selection.
void add_selection(options::CommandLine& line, SelectionOptions& options, bool offers_all);

// The option --socket, which every command that speaks with the daemon has.
void add_socket(options::CommandLine& line, std::string& socket);

// "pid 7, name train": the selection as text, for messages.
std::string selection_text(const SelectionOptions& options);

// Reads the start time of a trace, as a user writes it: "+10s", "14:30", "2026-01-31 14:30:05", "@1769869805.25".

// In ns of CLOCK_REALTIME. Without a date it is today, and times are local unless a Z follows. Throws
// kymo::InvalidArgument: other forms, and times before `now_ns`.
uint64_t parse_start_time(std::string_view text, uint64_t now_ns);

// The command line of `kymo trigger`.

struct TriggerOptions {
  wire::Trigger trigger;  // except for the output
  std::string output;     // as it was given; empty: default_output
  std::string socket;
  bool wait = true;
  bool json = false;
  bool quiet = false;
  HostsOptions hosts;
  std::string fetch;  // the folder for the files of the hosts; empty: they stay there
  // Instead of a request: which trigger to show or to end; 0: all.
  std::optional<uint64_t> status, cancel;
  bool keep = false;  // what a cancelled trigger has recorded so far
};

// Returns nothing if help was printed. Throws options::UsageError.
std::optional<TriggerOptions> read_trigger_options(const Arguments& arguments, uint64_t now_ns);

// Throws InvalidArgument for a file extension that a trace, or a memory profile, does not support.
void check_ending(std::string_view output, wire::RequestKind kind);

// The absolute pattern for the daemon; relative patterns start at `folder`. Default: a name that no trace has yet, in
// `folder`, or in the first of `allowed` if `folder` is not below one of them.
std::string output_pattern(const TriggerOptions& options, const std::string& folder,
                           const std::vector<std::string>& allowed);

}  // namespace kymo::cli
