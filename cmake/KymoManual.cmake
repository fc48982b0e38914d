# Manual pages and shell completions: `kymo` prints them itself, from the source of its `--help`.
if(CMAKE_CROSSCOMPILING OR KYMO_SANITIZE)
  return()
endif()

set(manual_dir ${PROJECT_BINARY_DIR}/manual)
set(manual_files)

# kymo_printed(FILE argument...): FILE is what `kymo argument...` prints.
function(kymo_printed FILE)
  add_custom_command(OUTPUT ${manual_dir}/${FILE}
    COMMAND $<TARGET_FILE:kymo_command> ${ARGN} > ${manual_dir}/${FILE}
    DEPENDS kymo_programs VERBATIM)
  set(manual_files ${manual_files} ${manual_dir}/${FILE} PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${manual_dir})
kymo_printed(kymo.1 manual)
kymo_printed(kymod.1 manual kymod)
set(pages kymo.1 kymod.1)
# The commands, by the lists that the programs have.
get_property(lists GLOBAL PROPERTY KYMO_COMMAND_LISTS)
set(rows)
foreach(list IN LISTS lists ITEMS src/core/commands/main.cc)
  file(STRINGS ${PROJECT_SOURCE_DIR}/${list} found REGEX "^ +{\"[a-z-]+\", Group::")
  list(APPEND rows ${found})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${list})
endforeach()
foreach(row IN LISTS rows)
  string(REGEX REPLACE "^ +{\"([a-z-]+)\".*" "\\1" command "${row}")
  kymo_printed(kymo-${command}.1 manual ${command})
  list(APPEND pages kymo-${command}.1)
endforeach()
kymo_printed(kymo.bash completion bash)
kymo_printed(_kymo completion zsh)
kymo_printed(kymo.fish completion fish)
add_custom_target(manuals ALL DEPENDS ${manual_files})

list(TRANSFORM pages PREPEND ${manual_dir}/)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${manual_dir}/kymo.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME kymo)
install(FILES ${manual_dir}/_kymo DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${manual_dir}/kymo.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
