// A tool for NVTX that checks every handle it gets: only its own are valid. Writes what it hears to $NVTX_TOOL_LOG.
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

#include <mutex>
#include <set>
#include <string>

namespace {

std::mutex mutex;
std::set<const void*> made;
nvtxRangeId_t next_range = 5000;
int depth = 0;

struct Named {
  std::string name;
};

void say(const std::string& line) {
  static FILE* const file = fopen(getenv("NVTX_TOOL_LOG"), "ae");
  if (file == nullptr) return;
  fprintf(file, "%s\n", line.c_str());
  fflush(file);
}

std::string text(const void* handle) {
  if (handle == nullptr) return "default";
  return made.contains(handle) ? static_cast<const Named*>(handle)->name : "FOREIGN HANDLE";
}

template <class Handle>
Handle make(const std::string& name) {
  auto* const one = new Named{name};
  made.insert(one);
  return reinterpret_cast<Handle>(one);
}

std::string text_of(const nvtxEventAttributes_t* event) {
  if (event->messageType == NVTX_MESSAGE_TYPE_REGISTERED) return text(event->message.registered);
  return event->messageType == NVTX_MESSAGE_TYPE_ASCII ? event->message.ascii : "?";
}

void mark_text(const char* name) {
  const std::lock_guard lock(mutex);
  say(std::string("mark ") + name);
}
int push_text(const char* name) {
  const std::lock_guard lock(mutex);
  say(std::string("push ") + name);
  return 1000 + depth++;
}
int pop_any() {
  const std::lock_guard lock(mutex);
  say("pop");
  return 1000 + --depth;
}
nvtxRangeId_t start_text(const char* name) {
  const std::lock_guard lock(mutex);
  say(std::string("start ") + name + " " + std::to_string(++next_range));
  return next_range;
}
void end_any(nvtxRangeId_t range) {
  const std::lock_guard lock(mutex);
  say("end " + std::to_string(range));
}
nvtxDomainHandle_t create(const char* name) {
  const std::lock_guard lock(mutex);
  say(std::string("domain ") + name);
  return make<nvtxDomainHandle_t>(name);
}
nvtxStringHandle_t string(nvtxDomainHandle_t domain, const char* name) {
  const std::lock_guard lock(mutex);
  say("string in " + text(domain) + ": " + name);
  return make<nvtxStringHandle_t>(name);
}
void domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const std::lock_guard lock(mutex);
  say("mark in " + text(domain) + ": " + text_of(event));
}
int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const std::lock_guard lock(mutex);
  say("push in " + text(domain) + ": " + text_of(event));
  return 7;
}
int domain_pop(nvtxDomainHandle_t domain) {
  const std::lock_guard lock(mutex);
  say("pop in " + text(domain));
  return 7;
}
nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const std::lock_guard lock(mutex);
  say("start in " + text(domain) + ": " + text_of(event) + " " + std::to_string(++next_range));
  return next_range;
}
void domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t range) {
  const std::lock_guard lock(mutex);
  say("end in " + text(domain) + " " + std::to_string(range));
}

template <class Function>
void set(NvtxFunctionTable table, int number, Function* function) {
  *table[number] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable core = nullptr, core2 = nullptr;
  unsigned count = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &count) == 0) return 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2, &count) == 0) return 0;
  set(core, NVTX_CBID_CORE_MarkA, mark_text);
  set(core, NVTX_CBID_CORE_RangePushA, push_text);
  set(core, NVTX_CBID_CORE_RangePop, pop_any);
  set(core, NVTX_CBID_CORE_RangeStartA, start_text);
  set(core, NVTX_CBID_CORE_RangeEnd, end_any);
  set(core2, NVTX_CBID_CORE2_DomainCreateA, create);
  set(core2, NVTX_CBID_CORE2_DomainRegisterStringA, string);
  set(core2, NVTX_CBID_CORE2_DomainMarkEx, domain_mark);
  set(core2, NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
  set(core2, NVTX_CBID_CORE2_DomainRangePop, domain_pop);
  set(core2, NVTX_CBID_CORE2_DomainRangeStartEx, domain_start);
  set(core2, NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
  say("attached");
  if (getenv("NVTX_TOOL_CALLS") != nullptr) nvtxMarkA("from the tool");
  return 1;
}
