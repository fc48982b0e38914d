#include "device/library.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "base/text.h"
#include "device/code_store.h"
#include "device/language.h"
#include "device/queue_recorder.h"
#include "kymo/translate.h"

namespace kymo::device {

LibraryState::LibraryState(DeviceState& device, std::unique_ptr<Program> program,
                           std::unique_ptr<const LibrarySource> source, std::string warnings)
    : device_(device),
      is_list_(program->is_list() && source != nullptr),
      program_(std::move(program)),
      source_(std::move(source)),
      warnings_(std::move(warnings)) {
  const auto kernels = program_->kernels();
  infos_.assign(kernels.begin(), kernels.end());
  for (uint32_t i = 0; i < infos_.size(); ++i) {
    const std::string& name = infos_[i].name;
    kernels_.push_back({this, i, keep_name(name), &keep_kernel_site(name), &infos_[i]});
  }
  std::sort(kernels_.begin(), kernels_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  device_.add_library(*this);
}

LibraryState::~LibraryState() {
  if (forked_with_devices.load(std::memory_order_relaxed)) {
    (void)program_.release();  // the driver did not survive the fork
    return;
  }
  if (launched_ && program_ != nullptr) {
    try {
      device_.synchronize();  // its kernels may still be queued
    } catch (const Error&) {
      // The device failed, so no kernel of it runs any more. The program gets this error from its own calls.
    }
  }
  device_.remove_library(*this);
}

KernelState* LibraryState::find(std::string_view name) {
  const auto found =
      std::lower_bound(kernels_.begin(), kernels_.end(), name,
                       [](const KernelState& kernel, std::string_view wanted) { return kernel.name < wanted; });
  if (found == kernels_.end() || found->name != name) return nullptr;
  if (!is_list_) return &*found;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<LibraryState>& one = one_by_one_[found->name];
  if (one == nullptr) {
    program();  // throws if the device was reset
    one = device_.libraries().get(source_->text, source_->options, LibraryCache::Owner::User, name);
  }
  return one->find(name);
}

std::vector<std::string> LibraryState::kernel_names() const {
  std::vector<std::string> names;
  for (const KernelState& kernel : kernels_) names.emplace_back(kernel.name);
  return names;
}

const Program& LibraryState::program() {
  if (program_ == nullptr) throw Error("this library was compiled before its device was reset: compile it again");
  if (!launched_.load(std::memory_order_relaxed)) launched_ = true;
  return *program_;
}

void LibraryState::drop_program() { program_.reset(); }

// ---- kymo/shader.h -------------------------------------------------------------------------------------------------

Kernel ShaderLibrary::operator[](std::string_view name) const {
  KernelState* kernel = state_->find(name);
  if (kernel == nullptr) {
    throw Error(base::format("there is no kernel \"{}\" in this library; it has: {}", name,
                             base::join(state_->kernel_names(), ", ")));
  }
  return Kernel(state_, *kernel);
}

std::vector<std::string> ShaderLibrary::kernel_names() const { return state_->kernel_names(); }
const std::string& ShaderLibrary::warnings() const { return state_->warnings(); }
Device ShaderLibrary::device() const { return Device(state_->device()); }

ShaderLibrary compile_shader(std::string_view source, const CompileOptions& options) {
  return compile_shader(source, options, Device::current());
}

ShaderLibrary compile_shader(std::string_view source, const CompileOptions& options, Device device) {
  return ShaderLibrary(device.state().libraries().get(source, options));
}

ShaderLibrary load_metallib(const std::string& path) { return load_metallib(path, Device::current()); }

ShaderLibrary load_metallib(const std::string& path, Device device) {
  constexpr uint64_t kLongest = uint64_t{256} << 20;
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) throw base::file_error("read", path, errno);
  const uint64_t size = base::size_of(file, path);
  if (size > kLongest) throw Error(base::format("{} is too large for a library of kernels", path));
  std::vector<std::byte> bytes(size);
  bytes.resize(base::read_at(file, path, 0, bytes));
  try {
    return load_metallib(bytes, device);
  } catch (const CompileError&) {
    throw;
  } catch (const Error& error) {
    throw Error(base::format("cannot load {}: {}", path, error.what()));
  }
}

ShaderLibrary load_metallib(std::span<const std::byte> contents) { return load_metallib(contents, Device::current()); }

ShaderLibrary load_metallib(std::span<const std::byte> contents, Device device) {
  const std::string_view bytes(reinterpret_cast<const char*>(contents.data()), contents.size());
  if (!shader::is_library(bytes)) shader::decode_library(bytes);  // throws what is wrong
  CompileOptions options;
  options.file = "library";
  return ShaderLibrary(device.state().libraries().get(bytes, options));
}

// ---- The cache -----------------------------------------------------------------------------------------------------

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

// The kernels of a source that are compiled one by one. There may be none: some sources have only functions and types.
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
  if (source.text.empty()) return {std::make_unique<KernelList>(std::vector<KernelInfo>()), {}};
  if (source.language != Language::Metal) return {accelerator.compile(source), {}};
  const MetalTranslation translation = translate_metal(source.text, options, device_.info(), source.only);
  const bool has_many = translation.kernels.size() >= kManyKernels && !shader::is_library(source.text);
  if (translation.kernels.empty() || has_many)
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
