#if KYMO_HAVE_DW

#include "symbols/debug_functions.h"

#include <dwarf.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "symbols/debug_information.h"

namespace kymo::symbols {

namespace {

constexpr int kDeepest = 200;  // max depth of nested namespaces, or of functions inlined into each other

// Calls `visit` with each child, in the order of the file, until it returns false.
template <class Visit>
void for_children(Dwarf_Die& parent, Visit visit) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  for (Dwarf_Off before = dwarf_dieoffset(&parent); dwarf_dieoffset(&child) > before;) {
    before = dwarf_dieoffset(&child);
    if (!visit(child)) return;
    Dwarf_Die next;
    if (dwarf_siblingof(&child, &next) != 0) return;
    child = next;
  }
}

void add_functions(Dwarf_Die& parent, int depth, AddressRanges& functions) {
  if (depth > kDeepest) return;
  for_children(parent, [&](Dwarf_Die& child) {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
        functions.add(child);
        break;
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
        add_functions(child, depth + 1, functions);
        break;
      default:
        break;
    }
    return true;
  });
}

struct Place {
  std::string file;
  uint32_t line = 0;
};

// Returns an absolute path. A compiler may have stored a path that is relative to its working directory.
std::string whole_path(Dwarf_Die& unit, const char* path) {
  Dwarf_Attribute attribute;
  const char* folder = nullptr;
  if (path[0] != '/' && dwarf_attr(&unit, DW_AT_comp_dir, &attribute) != nullptr) folder = dwarf_formstring(&attribute);
  return folder != nullptr ? std::string(folder) + "/" + path : path;
}

Place place_in_code(Dwarf_Die& unit, Dwarf_Addr address) {
  Place place;
  Dwarf_Line* const line = dwarf_getsrc_die(&unit, address);
  if (line == nullptr) return place;
  if (const char* const file = dwarf_linesrc(line, nullptr, nullptr)) place.file = whole_path(unit, file);
  int number = 0;
  if (dwarf_lineno(line, &number) == 0 && number > 0) place.line = static_cast<uint32_t>(number);
  return place;
}

std::optional<Dwarf_Word> number_of(Dwarf_Die& die, unsigned kind) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(&die, kind, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0) return std::nullopt;
  return value;
}

// Where an inlined function was called.
Place place_of_call(Dwarf_Die& unit, Dwarf_Die& inlined) {
  Place place;
  if (const auto line = number_of(inlined, DW_AT_call_line); line && *line <= UINT32_MAX)
    place.line = static_cast<uint32_t>(*line);
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (const auto file = number_of(inlined, DW_AT_call_file);
      file && dwarf_getsrcfiles(&unit, &files, &count) == 0 && *file < count)
    if (const char* const name = dwarf_filesrc(files, *file, nullptr, nullptr)) place.file = whole_path(unit, name);
  return place;
}

std::string function_name(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (dwarf_attr_integrate(&die, kind, &attribute) != nullptr)
      if (const char* const mangled = dwarf_formstring(&attribute)) return demangled(mangled);
  const char* const name = dwarf_diename(&die);
  return name != nullptr ? name : "";
}

// Moves `scope` to the block or inlined function in it that contains the address. False: there is none.
bool step_into(Dwarf_Die& scope, Dwarf_Addr address) {
  bool found = false;
  Dwarf_Die inner;
  for_children(scope, [&](Dwarf_Die& child) {
    const int tag = dwarf_tag(&child);
    const bool has_code = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
                          tag == DW_TAG_catch_block;
    if (!has_code || dwarf_haspc(&child, address) != 1) return true;
    inner = child;
    found = true;
    return false;
  });
  if (found) scope = inner;
  return found;
}

}  // namespace

void AddressRanges::add(Dwarf_Die& die) {
  Dwarf_Addr base = 0, begin = 0, end = 0;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;)
    if (begin < end) ranges_.push_back({begin, end, dwarf_dieoffset(&die)});
}

void AddressRanges::sort() {
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

std::optional<Dwarf_Off> AddressRanges::at(Dwarf_Addr address) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                      [](Dwarf_Addr value, const Range& range) { return value < range.begin; });
  if (after == ranges_.begin() || address >= std::prev(after)->end) return std::nullopt;
  return std::prev(after)->offset;
}

AddressRanges functions_of(Dwarf_Die& unit) {
  AddressRanges functions;
  add_functions(unit, 0, functions);
  functions.sort();
  return functions;
}

AddressRanges units_of(Dwarf* dwarf) {
  AddressRanges units;
  Dwarf_Off next = 0;
  size_t header = 0;
  for (Dwarf_Off at = 0; dwarf_nextcu(dwarf, at, &next, &header, nullptr, nullptr, nullptr) == 0 && next > at;
       at = next) {
    Dwarf_Die unit;
    if (dwarf_offdie(dwarf, at + header, &unit) != nullptr) units.add(unit);
  }
  units.sort();
  return units;
}

std::vector<Frame> frames_in(Dwarf_Die& unit, Dwarf_Die& function, Dwarf_Addr address) {
  std::vector<Dwarf_Die> scopes{function};  // only functions, outermost first
  Dwarf_Die scope = function;
  for (int depth = 0; depth < kDeepest && step_into(scope, address); ++depth)
    if (dwarf_tag(&scope) == DW_TAG_inlined_subroutine) scopes.push_back(scope);

  std::vector<Frame> frames;
  Place place = place_in_code(unit, address);
  for (size_t i = scopes.size(); i-- > 0;) {
    frames.push_back({function_name(scopes[i]), std::move(place.file), place.line, {}, i > 0});
    if (i > 0) place = place_of_call(unit, scopes[i]);
  }
  return frames;
}

Frame line_in(Dwarf_Die& unit, Dwarf_Addr address) {
  Place place = place_in_code(unit, address);
  return {{}, std::move(place.file), place.line, {}, false};
}

}  // namespace kymo::symbols

#endif
