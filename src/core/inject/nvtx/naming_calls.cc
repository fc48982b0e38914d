// The functions that name objects: the modules CUDA, CUDART and OPENCL, and resources of a domain.
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "inject/nvtx/domain.h"
#include "inject/nvtx/events.h"
#include "inject/nvtx/handlers.h"
#include "inject/nvtx/message.h"
#include "inject/nvtx/objects.h"
#include "inject/nvtx/thread_state.h"
#include "inject/resource_names.h"
#include "record/interfaces.h"

namespace kymo::inject::nvtx {
namespace {

// The name is kept for other adapters, and is an event of the trace.
void name(Resource kind, uint64_t id, const Text& text) noexcept {
  set_resource_name(kind, id, text.view());
  if (!record::recording()) return;
  const std::string_view what = text_of(kind);
  kymo_arg args[3] = {{"kind", {}, static_cast<uint32_t>(what.size()), KYMO_STRING},
                      {"id", {}, 0, KYMO_POINTER},
                      {"name", {}, static_cast<uint32_t>(text.view().size()), KYMO_STRING}};
  args[0].value.as_text = what.data();
  args[1].value.as_uint = id;
  args[2].value.as_text = text.view().data();
  store_with_args(record::Kind::Instant, default_domain, "name of {kind}: {name}", args, 3);
}

template <Resource kKind, class Id, class Character>
void name_object(Id id, const Character* text) noexcept {
  name(kKind, (uint64_t)id, Text(text));
}

// The pair of functions for one kind of object: for narrow and wide strings.
template <Resource kKind, class Id>
constexpr auto narrow = &name_object<kKind, Id, char>;
template <Resource kKind, class Id>
constexpr auto wide = &name_object<kKind, Id, wchar_t>;

using Pointer = const void*;
using enum Resource;

// ---- Resources of a domain -----------------------------------------------------------------------------------------

enum ResourceClass : int32_t {
  kGeneric = 1,
  kSyncOs = 2,
  kSyncPthread = 3,
  kClassCuda = 4,
  kClassCudaRuntime = 5,
  kClassOpenCl = 6
};
enum GenericIndex : int32_t { kNativeThread = 3, kPosixThread = 4 };

Resource kind_of_identifier(int32_t type) noexcept {
  const int32_t index = type & 0xffff;
  switch (type >> 16) {
    case kClassCuda:
      return index >= 1 && index <= 4 ? static_cast<Resource>(static_cast<int32_t>(CudaDevice) + index - 1) : Other;
    case kClassCudaRuntime:
      return index >= 0 && index <= 2 ? static_cast<Resource>(static_cast<int32_t>(CudaRuntimeDevice) + index) : Other;
    case kClassOpenCl:
      return index >= 1 && index <= 7 ? static_cast<Resource>(static_cast<int32_t>(OpenClDevice) + index - 1) : Other;
    default:
      return Other;
  }
}

struct ResourceHandle : Object {
  uint64_t id;
};

ResourceHandle* create_resource(Domain*, const ResourceAttributes* given) noexcept {
  if (given == nullptr) return nullptr;
  ResourceAttributes known{};
  memcpy(&known, given, std::min<size_t>(std::max<size_t>(given->size, 2 * sizeof given->size), sizeof known));
  const Text text(known.message_type, known.message);
  const int32_t index = known.identifier_type & 0xffff;
  const bool is_thread = known.identifier_type >> 16 == kGeneric && index == kNativeThread;
  if (is_thread) {
    name_thread(static_cast<uint32_t>(known.identifier), text.c_str());
  } else {
    name(kind_of_identifier(known.identifier_type), known.identifier, text);
  }
  auto* const made = static_cast<ResourceHandle*>(calloc(1, sizeof(ResourceHandle)));
  if (made != nullptr) made->id = known.identifier;
  return made;
}
void destroy_resource(ResourceHandle* resource) noexcept { free(resource); }

}  // namespace

std::span<const Handler> cuda_handlers() noexcept {
  static const Handler all[] = {{},
                                always(narrow<CudaDevice, int>),
                                always(wide<CudaDevice, int>),
                                always(narrow<CudaContext, Pointer>),
                                always(wide<CudaContext, Pointer>),
                                always(narrow<CudaStream, Pointer>),
                                always(wide<CudaStream, Pointer>),
                                always(narrow<CudaEvent, Pointer>),
                                always(wide<CudaEvent, Pointer>)};
  return all;
}

std::span<const Handler> cuda_runtime_handlers() noexcept {
  static const Handler all[] = {{},
                                always(narrow<CudaRuntimeDevice, int>),
                                always(wide<CudaRuntimeDevice, int>),
                                always(narrow<CudaRuntimeStream, Pointer>),
                                always(wide<CudaRuntimeStream, Pointer>),
                                always(narrow<CudaRuntimeEvent, Pointer>),
                                always(wide<CudaRuntimeEvent, Pointer>)};
  return all;
}

std::span<const Handler> opencl_handlers() noexcept {
  static const Handler all[] = {{},
                                always(narrow<OpenClDevice, Pointer>),
                                always(wide<OpenClDevice, Pointer>),
                                always(narrow<OpenClContext, Pointer>),
                                always(wide<OpenClContext, Pointer>),
                                always(narrow<OpenClQueue, Pointer>),
                                always(wide<OpenClQueue, Pointer>),
                                always(narrow<OpenClMemory, Pointer>),
                                always(wide<OpenClMemory, Pointer>),
                                always(narrow<OpenClSampler, Pointer>),
                                always(wide<OpenClSampler, Pointer>),
                                always(narrow<OpenClProgram, Pointer>),
                                always(wide<OpenClProgram, Pointer>),
                                always(narrow<OpenClEvent, Pointer>),
                                always(wide<OpenClEvent, Pointer>)};
  return all;
}

Handler resource_create_handler() noexcept { return always(create_resource); }
Handler resource_destroy_handler() noexcept { return always(destroy_resource); }

}  // namespace kymo::inject::nvtx
