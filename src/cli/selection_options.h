// Which processes a command is about: --pid, --name, --job, --all.
#pragma once

#include <string>

#include "options/command_line.h"
#include "wire/tool_messages.h"

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

}  // namespace kymo::cli
