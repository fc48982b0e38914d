# kymo_fingerprint(SOURCE source FUNCTION function FILES file...)
#
# SOURCE defines FUNCTION (a name with its namespace, uint64_t()), which gives another number whenever one of FILES has
# changed. Made while building, so that no one has to think of it.
function(kymo_fingerprint)
  cmake_parse_arguments(PRINT "" "SOURCE;FUNCTION" "FILES" ${ARGN})
  list(SORT PRINT_FILES)
  add_custom_command(OUTPUT ${PRINT_SOURCE}
    COMMAND ${CMAKE_COMMAND} -D "SOURCE=${PRINT_SOURCE}" -D "FUNCTION=${PRINT_FUNCTION}" -D "FILES=${PRINT_FILES}"
            -P ${PROJECT_SOURCE_DIR}/cmake/KymoFingerprint.cmake
    DEPENDS ${PRINT_FILES} ${PROJECT_SOURCE_DIR}/cmake/KymoFingerprint.cmake
    COMMENT "Taking the fingerprint of ${PRINT_FUNCTION}" VERBATIM)
endfunction()

# As a script: what the command above runs.
if(CMAKE_SCRIPT_MODE_FILE)
  set(prints)
  foreach(file IN LISTS FILES)
    file(SHA256 ${file} print)
    string(APPEND prints ${print})
  endforeach()
  string(SHA256 print "${prints}")
  string(SUBSTRING ${print} 0 16 print)
  string(REGEX MATCH "^(.*)::([^:]+)$" whole ${FUNCTION})
  set(text "// Made by cmake/KymoFingerprint.cmake.\n#include <cstdint>\n\nnamespace ${CMAKE_MATCH_1} {\n")
  string(APPEND text "uint64_t ${CMAKE_MATCH_2}();\nuint64_t ${CMAKE_MATCH_2}() { return 0x${print}ull; }\n}\n")
  file(CONFIGURE OUTPUT ${SOURCE} @ONLY CONTENT "${text}")
endif()
