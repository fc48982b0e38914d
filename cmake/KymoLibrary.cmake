# kymo_component(NAME ROOMS room...)
#
# A component is what a program links: the rooms' objects, compiled once, as libkymo.so (kymo::NAME) and libkymo.a
# (kymo::NAME_static). What is exported is what a public header marks KYMO_API.
function(kymo_component NAME)
  cmake_parse_arguments(COMPONENT "" "" "ROOMS" ${ARGN})
  set(objects)
  foreach(room IN LISTS COMPONENT_ROOMS)
    get_target_property(type kymo_${room} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND objects $<TARGET_OBJECTS:kymo_${room}>)
    endif()
  endforeach()

  set(shared kymo_${NAME})
  set(static kymo_${NAME}_static)
  add_library(${shared} SHARED ${objects})
  add_library(${static} STATIC ${objects})
  add_library(kymo::${NAME} ALIAS ${shared})
  add_library(kymo::${NAME}_static ALIAS ${static})

  foreach(target ${shared} ${static})
    target_include_directories(${target} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_features(${target} PUBLIC cxx_std_20)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME kymo LINKER_LANGUAGE CXX)
  endforeach()
  set_target_properties(${shared} PROPERTIES
    EXPORT_NAME ${NAME}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  set_target_properties(${static} PROPERTIES EXPORT_NAME ${NAME}_static)

  target_link_libraries(${shared} PRIVATE PkgConfig::zstd Threads::Threads)
  target_link_libraries(${static} PUBLIC zstd Threads::Threads)
  # An annotation needs no collector to link, but KYMO_TRACE needs one to be there. kymo.pc says the same.
  target_link_options(${static} INTERFACE -Wl,--undefined=kymo_link_collector)
  # Threads may outlive a dlclose: the code stays mapped.
  target_link_options(${shared} PRIVATE -Wl,-z,nodelete)
  if(NOT KYMO_SANITIZE)  # a sanitizer's symbols come from the program
    target_link_options(${shared} PRIVATE -Wl,--no-undefined)
  endif()
  set_property(GLOBAL APPEND PROPERTY KYMO_LIBRARIES ${shared} ${static})
  set_property(GLOBAL APPEND PROPERTY KYMO_COMPONENTS ${NAME})
endfunction()
