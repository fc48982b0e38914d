// A program with Kymo's own agent: it has a connection and gets a request at once.
#pragma once

#include "daemon/connection.h"
#include "daemon/program.h"

namespace kymo::daemon {

class AgentProgram : public Program {
 public:
  // The connection outlives it.
  AgentProgram(Connection& connection, const ProcessFacts& facts, const wire::Hello& hello);

  std::optional<wire::Done> objection(const ProgramRequest& request) const override;
  std::string path_of(const ProgramRequest& request) const override;
  void start(const ProgramRequest& request) override;
  base::Check cancel(uint64_t request_id) override;
  base::Check stop(uint64_t request_id) override;

 private:
  int32_t pid_in_path(const ProgramRequest& request) const;

  Connection& connection_;
};

}  // namespace kymo::daemon
