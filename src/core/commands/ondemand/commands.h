// The commands for traces of running programs.
#pragma once

#include "cli/command.h"

namespace kymo::cli {

int ps(const Arguments&);              // lists programs that can be traced on demand
int trigger(const Arguments&);         // requests traces from them, shows what became of requests, and cancels them
int stack_command(const Arguments&);   // where the threads of a process are now
int doctor(const Arguments&);          // what works here, and why a program cannot be traced on demand
int daemon_command(const Arguments&);  // the daemon for traces on demand
int remote_command(const Arguments&);  // the far end of --hosts; in no list, because nobody types it

}  // namespace kymo::cli
