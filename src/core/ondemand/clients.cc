#include "ondemand/clients.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace kymo::ondemand {

void Client::prepare(bool, bool, bool, bool, bool) {}
bool Client::export_memory_profile(const std::string&) { return false; }

Clients& all_clients() {
  static Clients* const clients = new Clients;
  return *clients;
}

void Clients::add(Client& client) {
  const std::lock_guard lock(mutex_);
  const bool known =
      std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.client == &client; });
  if (!known) entries_.push_back({&client});
}

void Clients::remove(Client& client) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.client == &client; });
}

void Clients::init_new() {
  const std::lock_guard lock(mutex_);
  // By number: a client may add others while it is called.
  for (size_t i = 0; i < entries_.size(); ++i)
    if (!std::exchange(entries_[i].initialised, true)) entries_[i].client->init();
}

void Clients::prepare(const TraceFlags& flags) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < entries_.size(); ++i)
    entries_[i].client->prepare(flags.shapes, flags.memory, flags.stack, flags.flops, flags.modules);
}

template <class Call>
void Clients::start_all(bool Entry::*started, Call call, void (Clients::*stop)()) {
  const std::lock_guard lock(mutex_);
  try {
    for (size_t i = 0; i < entries_.size(); ++i) {
      call(*entries_[i].client);
      entries_[i].*started = true;
    }
  } catch (...) {
    try {
      (this->*stop)();
    } catch (...) {  // the first exception is reported
    }
    throw;
  }
}

void Clients::start() {
  start_all(
      &Entry::started, [](Client& client) { client.start(); }, &Clients::stop);
}

void Clients::start_memory_profile() {
  start_all(
      &Entry::memory_started, [](Client& client) { client.start_memory_profile(); }, &Clients::stop_memory_profile);
}

template <class Call>
void Clients::stop_all(bool Entry::*started, Call call) {
  const std::lock_guard lock(mutex_);
  std::exception_ptr first;
  for (size_t i = entries_.size(); i-- > 0;) {
    if (i >= entries_.size() || !std::exchange(entries_[i].*started, false)) continue;
    try {
      call(*entries_[i].client);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

void Clients::stop() {
  stop_all(&Entry::started, [](Client& client) { client.stop(); });
}

void Clients::stop_memory_profile() {
  stop_all(&Entry::memory_started, [](Client& client) { client.stop_memory_profile(); });
}

std::vector<std::string> Clients::export_memory_profile(const std::string& path) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> written;
  for (size_t i = 0; i < entries_.size(); ++i) {
    std::string theirs = client_path(path, i + 1);
    if (entries_[i].client->export_memory_profile(theirs)) written.push_back(std::move(theirs));
  }
  return written;
}

void Clients::after_fork_in_child() noexcept {
  new (&mutex_) std::recursive_mutex;
  for (Entry& entry : entries_) entry.started = entry.memory_started = false;
}

std::string client_path(const std::string& path, size_t number) {
  const size_t slash = path.rfind('/');
  const size_t begin = slash == path.npos ? 0 : slash + 1;
  const size_t dot = std::min(path.find('.', begin + 1), path.size());
  return path.substr(0, dot) + "_client" + std::to_string(number) + path.substr(dot);
}

}  // namespace kymo::ondemand
