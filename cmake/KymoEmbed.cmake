# kymo_embed(HEADER header SOURCE source NAMESPACE namespace FILES file...)
#
# Texts as constants: FILE.EXT becomes `extern const std::string_view FILE_EXT` in HEADER, and its bytes are in SOURCE.
function(kymo_embed)
  cmake_parse_arguments(EMBED "" "HEADER;SOURCE;NAMESPACE" "FILES" ${ARGN})
  set(declarations)
  set(definitions)
  foreach(file IN LISTS EMBED_FILES)
    get_filename_component(name ${file} NAME)
    string(REGEX REPLACE "[^A-Za-z0-9]" "_" name ${name})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" hex ${hex})
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    string(APPEND declarations "extern const std::string_view ${name};\n")
    string(APPEND definitions
      "constexpr unsigned char ${name}_bytes[] = {\n${hex}};\nconst std::string_view ${name}(reinterpret_cast<const char*>(${name}_bytes), sizeof ${name}_bytes);\n")
  endforeach()
  set(preamble "// Made by cmake/KymoEmbed.cmake.\n")
  file(CONFIGURE OUTPUT ${EMBED_HEADER} @ONLY CONTENT
    "${preamble}#pragma once\n\n#include <string_view>\n\nnamespace ${EMBED_NAMESPACE} {\n${declarations}}\n")
  file(CONFIGURE OUTPUT ${EMBED_SOURCE} @ONLY CONTENT
    "${preamble}#include \"${EMBED_HEADER}\"\n\nnamespace ${EMBED_NAMESPACE} {\n${definitions}}\n")
endfunction()
