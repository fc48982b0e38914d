#include "device/cuda/nvrtc.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "base/environment.h"
#include "base/text.h"

namespace kymo::device::cuda {
namespace {

uint32_t number_before(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  uint32_t value = 0;
  std::from_chars(text.data() + begin, text.data() + end, value);
  return value;
}

struct Found {
  std::string file, text;
  uint32_t line = 0;
};

// file(12): error: text, or file(12): catastrophic error: text
bool nvrtc_error(std::string_view line, Found& found) {
  for (const std::string_view mark : {"): error: ", "): catastrophic error: ", "): internal error: "}) {
    const size_t at = line.find(mark);
    const size_t open = line.rfind('(', at);
    if (at == std::string_view::npos || open == std::string_view::npos) continue;
    found = {std::string(line.substr(0, open)), std::string(line.substr(at + mark.size())), number_before(line, at)};
    return true;
  }
  return false;
}

// ptxas application ptx input, line 7; error   : text
bool assembler_error(std::string_view line, std::string_view file, Found& found) {
  const size_t at = line.find("error");
  const size_t colon = line.find(": ", at);
  if (at == std::string_view::npos || colon == std::string_view::npos) return false;
  found.text = line.substr(colon + 2);
  const size_t place = line.find(", line "), semicolon = line.find(';', place);
  if (place != std::string_view::npos && semicolon != std::string_view::npos) {
    found.line = number_before(line, semicolon);
    found.file = file;
  }
  return true;
}

// NVRTC repeats the line, two columns further right, and below it puts a ^ under the column.
uint32_t column_below(const std::vector<std::string>& lines, size_t error) {
  constexpr size_t kIndent = 2;
  if (error + 2 >= lines.size()) return 0;
  const size_t caret = lines[error + 2].find_first_not_of(' ');
  if (caret == std::string_view::npos || lines[error + 2][caret] != '^' || caret < kIndent) return 0;
  return static_cast<uint32_t>(caret - kIndent + 1);
}

}  // namespace

CompileError compile_error(std::string_view log, std::string_view file) {
  while (!log.empty() && (log.back() == '\n' || log.back() == '\0' || log.back() == ' ')) log.remove_suffix(1);
  const std::vector<std::string> lines = base::split(log, '\n');
  const std::string message =
      log.empty() ? base::format("{} does not compile, and the compiler gives no reason", file) : std::string(log);
  Found found;
  for (size_t i = 0; i < lines.size(); ++i)
    if (nvrtc_error(lines[i], found)) return {message, found.file, found.line, column_below(lines, i), found.text};
  for (const std::string& line : lines)
    if (assembler_error(line, file, found)) return {message, found.file, found.line, 0, found.text};
  return {message, {}, 0, 0, lines.front()};
}

namespace {

constexpr const char* kNvrtcPackage =
    "install NVRTC (Debian and Ubuntu: libnvrtc13, libnvrtc12 or nvidia-cuda-toolkit; NVIDIA's repository: "
    "cuda-nvrtc-13-0), "
    "or set KYMO_NVRTC_LIBRARY to its libnvrtc.so";

std::string text_of(base::Variable name) {
  const char* value = base::environment(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::vector<std::string> candidates() {
  if (const std::string chosen = text_of("KYMO_NVRTC_LIBRARY"); !chosen.empty()) return {chosen};
  std::vector<std::string> names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
  for (const std::string& toolkit : {text_of("CUDA_HOME"), text_of("CUDA_PATH"), std::string("/usr/local/cuda")})
    if (!toolkit.empty()) names.push_back(toolkit + "/lib64/libnvrtc.so");
  names.emplace_back("libnvrtc.so");
  return names;
}

// The folders that may contain cuda_fp16.h and similar headers: of the toolkit, next to the library, of Python's
// package, of Debian's package.
std::vector<std::string> find_includes(const void* function) {
  std::vector<std::string> folders;
  for (const base::Variable variable : {base::Variable("CUDA_HOME"), base::Variable("CUDA_PATH")})
    if (const std::string toolkit = text_of(variable); !toolkit.empty()) folders.push_back(toolkit + "/include");
  Dl_info info{};
  if (dladdr(function, &info) != 0) {
    const std::unique_ptr<char, decltype(&std::free)> path(realpath(info.dli_fname, nullptr), std::free);
    const std::string file = path ? path.get() : "";
    const std::string folder = file.substr(0, file.rfind('/'));
    folders.push_back(folder + "/../include");
    folders.push_back(folder + "/../../cuda_runtime/include");
  }
  folders.emplace_back("/usr/local/cuda/include");
  folders.emplace_back("/usr/include");
  for (const std::string& folder : folders) {
    if (access((folder + "/cuda_fp16.h").c_str(), R_OK) != 0) continue;
    std::vector<std::string> options{"--include-path=" + folder};
    if (access((folder + "/cccl").c_str(), R_OK) == 0) options.push_back("--include-path=" + folder + "/cccl");
    return options;
  }
  return {};
}

bool given(std::span<const std::string> options, std::initializer_list<std::string_view> names) {
  for (const std::string& option : options)
    for (const std::string_view name : names)
      if (option == name || (option.starts_with(name) && option[name.size()] == '=')) return true;
  return false;
}

}  // namespace

const Nvrtc& Nvrtc::open(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw NotAvailable(dlerror());
  std::unique_ptr<Nvrtc> nvrtc(new Nvrtc);
  const char* missing = nullptr;
  const auto look_up = [&](const char* symbol, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    if (function == nullptr) missing = symbol;
  };
#define KYMO_NVRTC_LOOK_UP(member, symbol, parameters) look_up(symbol, nvrtc->member##_);
  KYMO_NVRTC_FUNCTIONS(KYMO_NVRTC_LOOK_UP)
#undef KYMO_NVRTC_LOOK_UP
  if (missing != nullptr) {
    dlclose(library);
    throw NotAvailable(base::format("{} has no {}", name, missing));
  }
  int major = 0, minor = 0;
  nvrtc->version_(&major, &minor);
  nvrtc->version_number_ = major * 1000 + minor * 10;
  // Since CUDA 11.2.
  const auto count = reinterpret_cast<int (*)(int*)>(dlsym(library, "nvrtcGetNumSupportedArchs"));
  const auto list = reinterpret_cast<int (*)(int*)>(dlsym(library, "nvrtcGetSupportedArchs"));
  int architectures = 0;
  if (count != nullptr && list != nullptr && count(&architectures) == 0 && architectures > 0) {
    nvrtc->architectures_.resize(static_cast<size_t>(architectures));
    list(nvrtc->architectures_.data());
  }
  nvrtc->include_options_ = find_includes(reinterpret_cast<const void*>(nvrtc->version_));
  return *nvrtc.release();
}

const Nvrtc& Nvrtc::load(int driver_version) {
  static std::mutex mutex;
  // By the setting that selected it. Never unloaded or destroyed, because it may be used while the process exits.
  static auto& all_loaded = *new std::map<std::string, const Nvrtc*>;
  const std::lock_guard lock(mutex);
  const Nvrtc*& loaded = all_loaded[text_of("KYMO_NVRTC_LIBRARY")];
  if (loaded != nullptr) return *loaded;
  std::string first_problem;
  const Nvrtc* newer = nullptr;  // than the driver: better than none, because its error names both versions
  for (const std::string& name : candidates()) {
    try {
      const Nvrtc& found = open(name);
      if (driver_version == 0 || found.version() <= driver_version || found.version() / 1000 == driver_version / 1000)
        return *(loaded = &found);
      if (newer == nullptr) newer = &found;
    } catch (const NotAvailable& problem) {
      if (first_problem.empty()) first_problem = problem.what();
    }
  }
  if (newer != nullptr) return *(loaded = newer);
  throw NotAvailable(
      base::format("CUDA: NVRTC, the compiler of CUDA C++, cannot be opened ({}); {}", first_problem, kNvrtcPackage));
}

int Nvrtc::nearest_architecture(int wanted) const {
  int nearest = 0;
  for (const int known : architectures_)
    if (known <= wanted) nearest = std::max(nearest, known);
  return nearest == 0 ? wanted : nearest;
}

std::string Nvrtc::compile(std::string_view source, std::string_view file, int architecture,
                           std::span<const std::string> options) const {
  std::vector<std::string> all;
  if (!given(options, {"--gpu-architecture", "-arch"}))
    all.push_back(base::format("--gpu-architecture=compute_{}", nearest_architecture(architecture)));
  if (!given(options, {"--std", "-std"})) all.emplace_back(version() >= 12000 ? "--std=c++20" : "--std=c++17");
  if (!given(options, {"--fmad", "-fmad", "--use_fast_math", "-use_fast_math"})) all.emplace_back("--fmad=false");
  if (!given(options, {"--device-as-default-execution-space", "-default-device"}))
    all.emplace_back("--device-as-default-execution-space");
  if (base::environment("KYMO_GPU_STALLS") != nullptr) all.emplace_back("--generate-line-info");
  all.insert(all.end(), options.begin(), options.end());
  all.insert(all.end(), include_options_.begin(), include_options_.end());  // after the user's folders
  std::vector<const char*> arguments;
  for (const std::string& option : all) arguments.push_back(option.c_str());

  NvrtcProgram* program = nullptr;
  if (create_(&program, std::string(source).c_str(), std::string(file).c_str(), 0, nullptr, nullptr) != 0)
    throw Error("CUDA: NVRTC cannot create a program: it is out of memory");
  const auto destroy = [this](NvrtcProgram* p) { destroy_(&p); };
  const std::unique_ptr<NvrtcProgram, decltype(destroy)> guard(program, destroy);
  const int result = compile_(program, static_cast<int>(arguments.size()), arguments.data());
  size_t size = 0;
  if (result != 0) {
    log_size_(program, &size);
    std::string text(size, '\0');
    if (size > 0) log_(program, text.data());
    throw compile_error(text, file);
  }
  ptx_size_(program, &size);
  std::string text(size, '\0');
  if (size == 0 || ptx_(program, text.data()) != 0)
    throw compile_error("NVRTC returned no PTX: remove options that ask for another kind of output", file);
  text.pop_back();  // its terminating zero
  return text;
}

}  // namespace kymo::device::cuda
