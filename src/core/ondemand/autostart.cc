// KYMO_DAEMON or KINETO_USE_DAEMON start the agent in any program that links Kymo's on-demand part. This file also
// handles the agent when the program forks and when it ends.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <mutex>
#include <new>

#include "base/environment.h"
#include "collect/own_session.h"
#include "kymo/ondemand.h"
#include "ondemand/agent.h"
#include "ondemand/clients.h"
#include "ondemand/code_calls.h"
#include "ondemand/daemon_address.h"
#include "ondemand/flight.h"
#include "ondemand/iterations.h"
#include "ondemand/recorder.h"

namespace kymo::ondemand {
namespace {

constexpr int kExitMilliseconds = 2000;
constexpr int kChildWaitsMilliseconds = 20;

// Never destroyed, like the agent, because the agent's thread may outlive the program's last destructors.
struct TheAgent {
  std::mutex mutex;
  Agent* agent = nullptr;
  bool locked_for_fork = false;
  bool is_ending = false;
};
TheAgent& the_agent() {
  static TheAgent* const held = new TheAgent;
  return *held;
}

AgentOptions options_by_environment() {
  AgentOptions options;
  // Does nothing in a program that has more rights than the user who starts it and sets its environment.
  if (const char* daemon = base::environment("KYMO_DAEMON")) options.daemon = daemon;
  options.asks_peers = base::environment("KINETO_USE_DAEMON") != nullptr;
  return options;
}

void before_fork() {
  TheAgent& held = the_agent();
  held.mutex.lock();
  held.locked_for_fork = held.agent != nullptr && held.agent->lock_for_fork();
}

void after_fork_in_parent() {
  TheAgent& held = the_agent();
  if (held.locked_for_fork) held.agent->unlock_after_fork();
  held.locked_for_fork = false;
  held.mutex.unlock();
}

void after_fork_in_child() noexcept {
  TheAgent& held = the_agent();
  new (&held.mutex) std::mutex;
  Agent* parents = std::exchange(held.agent, nullptr);
  stepped_iterations().wait_no_more();
  all_clients().after_fork_in_child();
  the_recorder().after_fork_in_child();
  renew_flight_in_child();
  forget_code_calls();
  if (parents == nullptr) return;
  AgentOptions options = parents->options();
  parents->abandon_in_child(std::exchange(held.locked_for_fork, false));
  options.wait_first_ms = kChildWaitsMilliseconds;
  try {
    held.agent = new Agent(options);
    held.agent->start();
  } catch (const std::exception&) {  // no thread could be started: the child continues without an agent
    held.agent = nullptr;
  }
}

void start_agent() {
  const AgentOptions options = options_by_environment();
  if (daemon_sockets(options.daemon).empty() && !options.asks_peers) return;
  TheAgent& held = the_agent();
  const std::lock_guard lock(held.mutex);
  if (held.agent != nullptr || held.is_ending) return;
  // Register the session's handlers first: in a child, they must run before ours.
  collect::follow_forks();
  static const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  (void)registered;
  held.agent = new Agent(options);
  held.agent->start();
}

__attribute__((constructor(104))) void start_by_environment() {
  const base::Check address = check_address(options_by_environment().daemon);
  // The user asked for it, and it is not possible: report it.
  if (!address) fprintf(stderr, "kymo: KYMO_DAEMON is ignored: %s\n", address.reason().c_str());
  init();
}

// Runs before the session's own end and after the program's own destructors.
__attribute__((destructor(104))) void end_agent() {
  TheAgent& held = the_agent();
  Agent* agent = nullptr;
  {
    const std::lock_guard lock(held.mutex);
    held.is_ending = true;
    agent = std::exchange(held.agent, nullptr);
  }
  if (agent != nullptr) agent->stop(kExitMilliseconds);
  drop_code_calls();
}

Agent* running_agent() {
  TheAgent& held = the_agent();
  const std::lock_guard lock(held.mutex);
  return held.agent;
}

}  // namespace

void init() noexcept {
  try {
    start_agent();
  } catch (const std::exception&) {  // no thread or file available: the program continues without an agent
  }
}

void register_client(Client& client) {
  all_clients().add(client);
  if (Agent* agent = running_agent()) agent->clients_changed();
}

void unregister_client(Client& client) {
  if (Agent* agent = running_agent()) agent->finish_job(kExitMilliseconds);
  all_clients().remove(client);
}

}  // namespace kymo::ondemand

// Makes sure that a program that links Kymo statically contains the code above; never called.
extern "C" void kymo_link_ondemand(void) {}
