// The completion scripts of `kymo completion`, one file for each shell. They are made from the options of all commands
// (options/manual.h), so they complete what `--help` shows.
//
// What is completed, in each shell: commands, options, the values of options that have only a few, arguments that have
// only a few values, and files for paths and other arguments. Values may follow a "=". After the program of
// `kymo record`, only files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "options/manual.h"

namespace kymo::cli {

struct CompletedCommand {
  std::string name, summary;
  options::CommandManual manual;

  // The values of its argument, if there are few.
  std::vector<std::string> argument_choices() const;
};

// All commands, in the order of the help, and `help`.
std::vector<CompletedCommand> completed_commands();

std::string bash_completion(const std::vector<CompletedCommand>& commands);
std::string zsh_completion(const std::vector<CompletedCommand>& commands);
std::string fish_completion(const std::vector<CompletedCommand>& commands);

// The value of the option is a file or a folder.
bool takes_path(const options::OptionManual& option);

std::string replaced(std::string text, std::string_view from, std::string_view to);
std::string single_quoted(const std::string& text);  // for bash and zsh

}  // namespace kymo::cli
