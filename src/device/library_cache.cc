#include "device/library_cache.h"

#include <algorithm>

#include "device/code_store.h"
#include "device/language.h"

namespace kymo::device {
namespace {

constexpr size_t kRecent = 32;

// What tells one compilation from another: everything the compiler sees, with lengths so that nothing runs together.
std::string key_of(const Source& source) {
  std::string key(language_name(source.language));
  const auto add = [&](std::string_view part) {
    key += '\0';
    key += std::to_string(part.size());
    key += '\0';
    key += part;
  };
  add(source.file);
  for (const std::string& option : source.options) add(option);
  add(source.text);
  return key;
}

}  // namespace

std::shared_ptr<LibraryState> LibraryCache::get(std::string_view text, const CompileOptions& options) {
  device_.check_usable();
  if (text.empty()) throw InvalidArgument("the source is empty: there is nothing to compile");
  Source source;
  source.language = choose_language(text, device_.info());
  source.text = text;
  source.file = options.file;
  for (const std::string& option : options.options)
    if (!option.empty()) source.options.push_back(option);

  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(mutex_);
    auto& found = entries_[key_of(source)];
    if (found == nullptr) found = std::make_shared<Entry>();
    entry = found;
  }
  std::lock_guard compiling(entry->mutex);
  if (auto library = entry->library.lock(); library != nullptr && library->is_valid()) return library;
  auto library = std::make_shared<LibraryState>(device_, make(source));
  entry->library = library;

  std::shared_ptr<LibraryState> evicted;  // destroyed without our lock
  std::lock_guard lock(mutex_);
  recent_.push_front(library);
  if (recent_.size() > kRecent) {
    evicted = std::move(recent_.back());
    recent_.pop_back();
  }
  return library;
}

std::unique_ptr<Program> LibraryCache::make(const Source& source) {
  const CodeStore store(
      device_.info().name + '\0' + device_.info().driver + '\0' + device_.name().substr(0, device_.name().find(':')),
      key_of(source));
  if (auto stored = store.read()) {
    if (auto program = device_.accelerator().load(stored->binary, std::move(stored->kernels))) return program;
  }
  auto program = device_.accelerator().compile(source);
  if (const auto binary = program->binary(); !binary.empty())
    store.write({binary, {program->kernels().begin(), program->kernels().end()}});
  return program;
}

void LibraryCache::forget() {
  std::deque<std::shared_ptr<LibraryState>> dropped;  // destroyed without our lock
  std::lock_guard lock(mutex_);
  dropped.swap(recent_);
  std::erase_if(entries_,
                [](const auto& entry) { return entry.second.use_count() == 1 && entry.second->library.expired(); });
}

}  // namespace kymo::device
