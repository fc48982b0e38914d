// A small program that does real work and uses all kinds of annotations of Kymo.
//
// It counts words: a reader generates documents; workers split them, count the words and merge the counts. Record it:
//   kymo record -o demo.kymo -- kymo_demo
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kymo/annotate.h"

namespace {

constexpr int kDocuments = 400;
constexpr int kWorkers = 3;

using Counts = std::map<std::string, int>;

struct Document {
  int number = 0;
  std::string text;
  kymo::RangeId life{};  // from the reader to the worker, across threads
};

template <class T>
class Queue {
 public:
  explicit Queue(const char* name) : name_(name) {}

  void put(T item) {
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
    kymo::counter(name_, items_.size());
    ready_.notify_one();
  }

  std::optional<T> take() {
    KYMO_RANGE(kymo::Label("wait for work", "waiting", kymo::colour::kGrey));
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    T item = std::move(items_.front());
    items_.pop_front();
    kymo::counter(name_, items_.size());
    return item;
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    ready_.notify_all();
  }

 private:
  const char* name_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<T> items_;
  bool closed_ = false;
};

std::string make_text(std::mt19937& random) {
  static const char* const kWords[] = {"drum", "pen", "clock", "signal", "smoke", "paper", "turn", "beat"};
  std::string text;
  const size_t words = 200 + random() % 800;
  for (size_t i = 0; i < words; ++i) text.append(kWords[random() % std::size(kWords)]).push_back(' ');
  return text;
}

void read_documents(Queue<Document>& work) {
  kymo::set_thread_name("reader");
  std::mt19937 random(7);
  for (int i = 0; i < kDocuments; ++i) {
    kymo::range_push("document {}", i);
    Document document{i, make_text(random), kymo::range_start("document in flight", kymo::arg("number", i))};
    kymo::flow_begin("hand over", static_cast<uint64_t>(i) + 1);
    kymo::mark("read", kymo::bytes("size", document.text.size()));
    work.put(std::move(document));
    kymo::range_pop();
  }
  work.close();
}

Counts count_words(const Document& document) {
  KYMO_RANGE(kymo::Label("count {}", "compute", kymo::colour::kGreen), document.number);
  kymo::flow_end("hand over", static_cast<uint64_t>(document.number) + 1);
  Counts counts;
  size_t begin = 0;
  for (size_t end; (end = document.text.find(' ', begin)) != std::string::npos; begin = end + 1)
    ++counts[document.text.substr(begin, end - begin)];
  return counts;
}

void work_on(Queue<Document>& work, Counts& total, std::mutex& total_mutex, int number) {
  kymo::set_thread_name("worker " + std::to_string(number));
  auto merge = kymo::ranged("merge", [&](const Counts& counts) {
    const std::lock_guard lock(total_mutex);
    for (const auto& [word, count] : counts) total[word] += count;
  });
  while (auto document = work.take()) {
    const Counts counts = count_words(*document);
    merge(counts);
    kymo::range_end(document->life);
  }
}

}  // namespace

int main() {
  kymo::set_thread_name("main");
  KYMO_RANGE("whole run");
  Queue<Document> work("documents waiting");
  Counts total;
  std::mutex total_mutex;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWorkers; ++i) threads.emplace_back([&, i] { work_on(work, total, total_mutex, i + 1); });
  std::thread reader([&] { read_documents(work); });
  reader.join();
  for (std::thread& thread : threads) thread.join();
  long words = 0;
  for (const auto& [word, count] : total) words += count;
  std::printf("%ld words in %d documents\n", words, kDocuments);
}
