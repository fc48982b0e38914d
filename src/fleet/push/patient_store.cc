#include "push/patient_store.h"

#include <thread>
#include <utility>

namespace kymo::push {
namespace {

// A statement that reads their rows has each number several times, and servers limit its length.
constexpr size_t kTracesOfQuestion = 256;

}  // namespace

PatientStore::PatientStore(std::unique_ptr<Store> store, const PushOptions& options, Pusher::Warn warn)
    : store_(std::move(store)), options_(options), warn_(std::move(warn)) {}

void PatientStore::before_retry(const TryAgain& problem, int left, std::chrono::milliseconds wait) {
  if (left <= 0) throw TryAgain(base::format("{}; gave up after {} retries", problem.what(), options_.retries));
  if (warn_) warn_(base::format("{}; next try in {} ms", problem.what(), wait.count()));
  ++retries_;
}

void PatientStore::wait_for(std::chrono::milliseconds time) {
  if (!options_.wait)
    std::this_thread::sleep_for(time);
  else if (!options_.wait(time))
    throw Error("interrupted");
}

void PatientStore::prepare() {
  if (is_prepared_) return;
  try {
    with_retries([&] {
      if (store_->prepare() && options_.on_new_tables) options_.on_new_tables();
    });
  } catch (const TryAgain&) {
    throw;
  } catch (const Error& error) {
    throw Refused(error.what());
  }
  is_prepared_ = true;
}

template <typename Ask>
std::map<uint64_t, KnownTrace> PatientStore::in_parts(const std::vector<uint64_t>& traces, Ask&& ask) {
  std::map<uint64_t, KnownTrace> all;
  for (size_t at = 0; at < traces.size(); at += kTracesOfQuestion) {
    const auto begin = traces.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kTracesOfQuestion, traces.size() - at));
    std::map<uint64_t, KnownTrace> found;
    with_retries([&] { found = ask(std::vector<uint64_t>(begin, end)); });
    all.merge(found);
  }
  for (const auto& [number, trace] : all) newest_ = std::max(newest_, trace.attempt);
  return all;
}

std::map<uint64_t, KnownTrace> PatientStore::known(const std::vector<uint64_t>& traces) {
  return in_parts(traces, [&](const std::vector<uint64_t>& some) {
    auto found = store_->known(some);
    store_->check_rows(found);
    return found;
  });
}

std::map<uint64_t, KnownTrace> PatientStore::marked(const std::vector<uint64_t>& traces) {
  return in_parts(traces, [&](const std::vector<uint64_t>& some) { return store_->known(some); });
}

}  // namespace kymo::push
