# kymo_component(NAME OUTPUT output ROOMS room... [NEEDS component...] [SHARED_ROOMS room...] [LIBS library...])
#
# A component is what a program links: the rooms' objects, compiled once, as libOUTPUT.so (kymo::NAME) and libOUTPUT.a
# (kymo::NAME_static). What is exported is what a public header marks KYMO_API. NEEDS are components it stands on.
# SHARED_ROOMS are rooms that those hold too but do not export: the shared library needs its own, the static one does not.
function(kymo_component NAME)
  cmake_parse_arguments(COMPONENT "" "OUTPUT" "ROOMS;NEEDS;SHARED_ROOMS;LIBS" ${ARGN})
  foreach(kind ROOMS SHARED_ROOMS)
    set(${kind}_objects)
    foreach(room IN LISTS COMPONENT_${kind})
      get_target_property(type kymo_${room} TYPE)
      if(type STREQUAL STATIC_LIBRARY)
        list(APPEND ${kind}_objects $<TARGET_OBJECTS:kymo_${room}>)
      endif()
    endforeach()
  endforeach()

  set(shared kymo_component_${NAME})
  set(static kymo_component_${NAME}_static)
  add_library(${shared} SHARED ${ROOMS_objects} ${SHARED_ROOMS_objects})
  add_library(${static} STATIC ${ROOMS_objects})
  add_library(kymo::${NAME} ALIAS ${shared})
  add_library(kymo::${NAME}_static ALIAS ${static})

  foreach(target ${shared} ${static})
    target_include_directories(${target} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_features(${target} PUBLIC cxx_std_20)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${COMPONENT_OUTPUT} LINKER_LANGUAGE CXX)
  endforeach()
  set_target_properties(${shared} PROPERTIES
    EXPORT_NAME ${NAME}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  set_target_properties(${static} PROPERTIES EXPORT_NAME ${NAME}_static)

  target_link_libraries(${shared} PRIVATE ${COMPONENT_LIBS} Threads::Threads)
  list(TRANSFORM COMPONENT_LIBS REPLACE "^PkgConfig::" "")  # by its plain name, which needs no target where it is used
  target_link_libraries(${static} PUBLIC ${COMPONENT_LIBS} Threads::Threads)
  foreach(needed IN LISTS COMPONENT_NEEDS)
    target_link_libraries(${shared} PUBLIC kymo_component_${needed})
    target_link_libraries(${static} PUBLIC kymo_component_${needed}_static)
  endforeach()
  # Threads may outlive a dlclose: the code stays mapped.
  target_link_options(${shared} PRIVATE -Wl,-z,nodelete)
  if(NOT KYMO_SANITIZE)  # a sanitizer's symbols come from the program
    target_link_options(${shared} PRIVATE -Wl,--no-undefined)
  endif()
  set_property(GLOBAL APPEND PROPERTY KYMO_LIBRARIES ${shared} ${static})
  set_property(GLOBAL APPEND PROPERTY KYMO_COMPONENTS ${NAME})
endfunction()
