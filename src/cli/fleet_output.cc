#include "cli/fleet_output.h"

#include "cli/terminal.h"

namespace kymo::cli {

void Notes::warn(const std::string& line) {
  say_warning(line);
  lines_.push_back(line);
}

void Notes::say(const std::string& line) {
  cli::say(line);
  lines_.push_back(line);
}

}  // namespace kymo::cli
