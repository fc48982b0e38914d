// The clients that a program's frameworks have registered (kymo/ondemand.h), and the calls to all of them.
//
// Called from the agent's thread, and from the program's threads if the code requests a trace: one call at a time.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "kymo/ondemand.h"

namespace kymo::ondemand {

// What a trace must contain besides times.
struct TraceFlags {
  bool shapes = false, memory = false, stack = false, flops = false, modules = false;
};

class Clients {
 public:
  void add(Client& client);
  // When it returns, no call to the client is running, and none follows.
  void remove(Client& client);
  void init_new();  // calls init() of the clients that are new

  // All of these throw what a client throws. Clients that were started by then are stopped.
  void prepare(const TraceFlags& flags);
  void start();
  void start_memory_profile();
  // Stops all clients, even if one throws; then throws the first exception.
  void stop();
  void stop_memory_profile();
  // Each client writes next to `path`, which is Kymo's own file: "snapshot_client1.pickle". Returns the written files.
  std::vector<std::string> export_memory_profile(const std::string& path);

  // In a forked child: nothing was started there.
  void after_fork_in_child() noexcept;

 private:
  struct Entry {
    Client* client;
    bool initialised = false, started = false, memory_started = false;
  };
  template <class Call>
  void start_all(bool Entry::*started, Call call, void (Clients::*stop)());
  template <class Call>
  void stop_all(bool Entry::*started, Call call);

  mutable std::recursive_mutex mutex_;  // a client may register another
  std::vector<Entry> entries_;
};

// Never destroyed: clients are created and destroyed with their own objects.
Clients& all_clients();

// "dir/snapshot.raw.json" and 1: "dir/snapshot_client1.raw.json".
std::string client_path(const std::string& path, size_t number);

}  // namespace kymo::ondemand
