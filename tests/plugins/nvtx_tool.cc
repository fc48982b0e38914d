// A tool as NVTX loads one (NVTX_INJECTION64_PATH): writes what it receives to the file $NVTX_TOOL_LOG, a line each.
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

#include <mutex>
#include <string>

namespace {

std::mutex mutex;
nvtxRangeId_t next_range = 100;
std::string domain_name;

void say(const std::string& line) {
  const std::lock_guard lock(mutex);
  static FILE* const file = fopen(getenv("NVTX_TOOL_LOG"), "we");
  if (file == nullptr) return;
  fprintf(file, "%s\n", line.c_str());
  fflush(file);
}

std::string text_of(const nvtxEventAttributes_t* event) {
  std::string text = event->messageType == NVTX_MESSAGE_TYPE_ASCII ? event->message.ascii : "?";
  char more[64] = "";
  if (event->colorType == NVTX_COLOR_ARGB) snprintf(more, sizeof more, " colour %08x", event->color);
  if (event->payloadType == NVTX_PAYLOAD_TYPE_DOUBLE) snprintf(more, sizeof more, " = %g", event->payload.dValue);
  if (event->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64)
    snprintf(more, sizeof more, " = %llu", static_cast<unsigned long long>(event->payload.ullValue));
  return text + more;
}

std::string in(nvtxDomainHandle_t domain) {
  return reinterpret_cast<void*>(domain) == &domain_name ? domain_name + ": " : "another domain: ";
}

nvtxDomainHandle_t create_domain(const char* name) {
  domain_name = name;
  return reinterpret_cast<nvtxDomainHandle_t>(&domain_name);
}
void mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) { say(in(domain) + "mark " + text_of(event)); }
int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  say(in(domain) + "push " + text_of(event));
  return 0;
}
int pop(nvtxDomainHandle_t domain) {
  say(in(domain) + "pop");
  return 0;
}
nvtxRangeId_t start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const nvtxRangeId_t range = ++next_range;
  say(in(domain) + "start " + text_of(event) + " as " + std::to_string(range));
  return range;
}
void end(nvtxDomainHandle_t domain, nvtxRangeId_t range) { say(in(domain) + "end " + std::to_string(range)); }

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  const auto set = [&](unsigned id, auto function) {
    if (id < size) *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  };
  set(NVTX_CBID_CORE2_DomainCreateA, create_domain);
  set(NVTX_CBID_CORE2_DomainMarkEx, mark);
  set(NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(NVTX_CBID_CORE2_DomainRangePop, pop);
  set(NVTX_CBID_CORE2_DomainRangeStartEx, start);
  set(NVTX_CBID_CORE2_DomainRangeEnd, end);
  return 1;
}
