// Any schemas over any bytes: the decoder must stay inside of the payload. The first part of the input describes
// schemas, the rest is the payload. Pointers out of the payload lead nowhere here.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "inject/nvtx/payload_decoder.h"

namespace {

using namespace kymo::inject::nvtx;

struct Input {
  const uint8_t* data;
  size_t size;
  uint8_t byte() {
    if (size == 0) return 0;
    --size;
    return *data++;
  }
  uint16_t half() { return static_cast<uint16_t>(byte() << 8 | byte()); }
};

bool read_nothing(uint64_t, void*, size_t) noexcept { return false; }

uint64_t register_any(Domain& domain, Input& input, uint64_t id) {
  static const char* const kNames[] = {"", "a", "field", "a long name of a field"};
  if (input.byte() % 4 == 0) {
    EnumEntryAttributes values[3] = {{"one", input.byte(), 1}, {"two", input.byte(), 1}, {"three", input.byte(), 0}};
    EnumAttributes made{};
    made.fields = kEnumEntries | kEnumEntryCount | kEnumSize | kEnumId;
    made.entries = values;
    made.entry_count = 3;
    made.size = input.byte() % 12;
    made.id = id;
    return register_enum(domain, &made);
  }
  std::vector<SchemaEntryAttributes> entries(input.byte() % 12);
  for (SchemaEntryAttributes& entry : entries) {
    entry.flags = input.half();
    const uint8_t type = input.byte();
    entry.type = type < 110 ? type : kFirstStaticId + type % 8;
    entry.name = kNames[input.byte() % 4];
    entry.detail = input.byte() % 3 == 0 ? input.half() : input.byte() % 16;
    entry.offset = input.byte() % 4 == 0 ? input.byte() : 0;
  }
  SchemaAttributes made{};
  made.fields = kSchemaType | kSchemaEntries | kSchemaEntryCount | kSchemaId | kSchemaStaticSize | kSchemaAlignment;
  made.type = 1 + input.byte() % 4;
  made.entries = entries.data();
  made.entry_count = entries.size();
  made.static_size = input.byte();
  made.pack_alignment = input.byte() % 3 == 0 ? input.byte() : 0;
  made.id = id;
  return register_schema(domain, &made);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input{data, size};
  // The list of schemas is replaced for each input, so that an input has the same effect alone.
  static Domain domain{};
  domain.name = "fuzz";
  domain.name_length = 4;
  const Schema* list = domain.schemas.exchange(nullptr);
  while (list != nullptr) {
    const Schema* const next = list->next;
    for (uint32_t i = 0; list->entries != nullptr && i < list->count; ++i)
      if (*list->entries[i].name != '\0') std::free(const_cast<char*>(list->entries[i].name));
    for (uint32_t i = 0; list->values != nullptr && i < list->count; ++i)
      if (*list->values[i].name != '\0') std::free(const_cast<char*>(list->values[i].name));
    std::free(const_cast<SchemaEntry*>(list->entries));
    std::free(const_cast<EnumEntry*>(list->values));
    std::free(const_cast<Schema*>(list));
    list = next;
  }
  const size_t schemas = 1 + input.byte() % 7;
  for (size_t i = 0; i < schemas; ++i) register_any(domain, input, kFirstStaticId + i);
  // Separate allocations of exactly their size, so that a read past the end is detected.
  const size_t cut = input.size / 2;
  const std::vector<uint8_t> first(input.data, input.data + cut), second(input.data + cut, input.data + input.size);
  const PayloadData payloads[] = {{kFirstStaticId, first.size(), first.data()},
                                  {kFirstStaticId + 1, second.size(), second.data()},
                                  {kFirstStaticId + 2, second.size(), second.data()}};
  const DecodedPayload decoded(domain, payloads, read_nothing);
  size_t sum = decoded.message().size() + decoded.schema_name().size();
  for (const kymo_arg& arg : decoded.args()) {
    sum += std::strlen(arg.name);
    if (arg.type == KYMO_STRING)
      for (uint32_t i = 0; i < arg.length; ++i) sum += static_cast<uint8_t>(arg.value.as_text[i]);
  }
  return sum == SIZE_MAX ? 1 : 0;
}
