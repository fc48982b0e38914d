#include "device/library_cache.h"

#include "base/text.h"
#include "device/code_store.h"
#include "device/language.h"
#include "device/metal_library.h"
#include "kymo/translate.h"

namespace kymo::device {
namespace {

constexpr size_t kRecent = 32;
constexpr size_t kManyKernels = 32;  // from this number on, kernels are compiled one by one

// Identifies a compilation: everything that the compiler sees. Each part has its length, so that parts cannot be
// confused.
std::string key_of(const Source& source, const CompileOptions& options) {
  std::string key(language_name(source.language));
  const auto add = [&](std::string_view part) {
    key += '\0';
    key += std::to_string(part.size());
    key += '\0';
    key += part;
  };
  add(source.file);
  add(source.only);
  for (const std::string& option : source.options) add(option);
  add(source.text);
  if (source.language != Language::Metal) return key;
  add(base::format("translator {:016x}, {} constants{}", shader::translator_version(), options.constants.size(),
                   options.tensor_cores ? ", tensor cores" : ""));
  for (const auto& [name, value] : options.constants) {
    add(name);
    add(base::format("{:a}", value));
  }
  for (const auto& [name, text] : options.headers) {
    add(name);
    add(text);
  }
  return key;
}

void reject_metal_options(Language language, const CompileOptions& options) {
  if (language == Language::Metal || (options.constants.empty() && options.headers.empty())) return;
  throw InvalidArgument(base::format("{} are for Metal only, and this source is {}",
                                     options.constants.empty() ? "headers" : "function constants",
                                     language_name(language)));
}

// A source without a kernel: some sources have only functions and types.
class EmptyProgram final : public Program {
 public:
  std::span<const KernelInfo> kernels() const override { return {}; }
  std::vector<std::byte> binary() const override { return {}; }
};

// The kernels of a source that are compiled one by one.
class KernelList final : public Program {
 public:
  explicit KernelList(std::vector<KernelInfo> kernels) : kernels_(std::move(kernels)) {}
  std::span<const KernelInfo> kernels() const override { return kernels_; }
  std::vector<std::byte> binary() const override { return {}; }
  bool is_list() const override { return true; }

 private:
  std::vector<KernelInfo> kernels_;
};

}  // namespace

std::shared_ptr<LibraryState> LibraryCache::get(std::string_view text, const CompileOptions& options, Owner owner,
                                                std::string_view only) {
  device_.check_usable();
  Source source;
  source.language = choose_language(text, device_.info());
  source.text = text;
  source.file = options.file;
  source.only = only;
  for (const std::string& option : options.options)
    if (!option.empty()) source.options.push_back(option);
  reject_metal_options(source.language, options);
  const std::string key = key_of(source, options);

  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(mutex_);
    auto& found = entries_[key];
    if (found == nullptr) found = std::make_shared<Entry>();
    entry = found;
  }
  std::lock_guard compiling(entry->mutex);
  if (auto library = entry->library.lock(); library != nullptr && library->is_valid()) return library;
  std::unique_ptr<const LibrarySource> kept;
  if (owner == Owner::User)
    kept = std::make_unique<LibrarySource>(LibrarySource{source.language, std::string(text), options});
  Compiled compiled = make(source, options, key);
  auto library = std::make_shared<LibraryState>(device_, std::move(compiled.program), std::move(kept),
                                                std::move(compiled.warnings));
  entry->library = library;

  std::shared_ptr<LibraryState> evicted;  // destroyed after the lock is released
  std::lock_guard lock(mutex_);
  recent_.push_front(library);
  if (recent_.size() > kRecent) {
    evicted = std::move(recent_.back());
    recent_.pop_back();
  }
  return library;
}

LibraryCache::Compiled LibraryCache::make(const Source& source, const CompileOptions& options, const std::string& key) {
  const CodeStore store(
      device_.info().name + '\0' + device_.info().driver + '\0' + device_.name().substr(0, device_.name().find(':')),
      key);
  if (auto stored = store.read()) {
    if (stored->binary.empty())
      return {std::make_unique<KernelList>(std::move(stored->kernels)), std::move(stored->warnings)};
    if (auto program = device_.accelerator().load(stored->binary, std::move(stored->kernels)))
      return {std::move(program), std::move(stored->warnings)};
  }
  Compiled compiled = compile(source, options);
  if (store.path().empty()) return compiled;
  const auto kernels = compiled.program->kernels();
  if (const auto binary = compiled.program->binary(); !binary.empty() || compiled.program->is_list())
    store.write({binary, {kernels.begin(), kernels.end()}, compiled.warnings});
  return compiled;
}

LibraryCache::Compiled LibraryCache::compile(const Source& source, const CompileOptions& options) {
  Accelerator& accelerator = device_.accelerator();
  if (source.text.empty()) return {std::make_unique<EmptyProgram>(), {}};
  if (source.language != Language::Metal) return {accelerator.compile(source), {}};
  const MetalTranslation translation = translate_metal(source.text, options, device_.info(), source.only);
  if (translation.kernels.empty()) return {std::make_unique<EmptyProgram>(), translation.warnings};
  if (translation.kernels.size() >= kManyKernels && !shader::is_library(source.text))
    return {std::make_unique<KernelList>(translation.kernels), translation.warnings};
  Source generated;
  generated.language = translation.language;
  generated.text = translation.text;
  generated.options = translation.options;
  generated.file = "translation";
  generated.kernels = translation.kernels;
  try {
    return {accelerator.compile(generated), translation.warnings};
  } catch (const CompileError& error) {
    if (error.file().empty()) throw;  // the text is right, but the device cannot run it
    throw translation_fault(translation.language, error);
  }
}

void LibraryCache::forget() {
  std::deque<std::shared_ptr<LibraryState>> dropped;  // destroyed after the lock is released
  std::lock_guard lock(mutex_);
  dropped.swap(recent_);
  std::erase_if(entries_,
                [](const auto& entry) { return entry.second.use_count() == 1 && entry.second->library.expired(); });
}

}  // namespace kymo::device
