// Which processes a command is about: --pid, --name, --job, --all.
#pragma once

#include <string>

#include "options/command_line.h"
#include "wire/tool_messages.h"

namespace kymo::cli {

// Throws kymo::InvalidArgument for what is no number of a process.
int32_t parse_pid(const std::string& text);

struct SelectionOptions {
  wire::Selection selection;
  bool all = false;

  bool is_empty() const;  // nothing was said
};

// `all` is offered where something has to be said.
void add_selection(options::CommandLine& line, SelectionOptions& options, bool offers_all);

// The option --socket, which every command that speaks with the daemon has.
void add_socket(options::CommandLine& line, std::string& socket);

// "pid 7, name train": what was asked for, for a message about it.
std::string selection_text(const SelectionOptions& options);

}  // namespace kymo::cli
