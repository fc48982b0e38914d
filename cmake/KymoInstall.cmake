# `cmake --install`: bin/kymo, include/kymo, libkymo.so and .a, the CMake package and kymo.pc. The tree may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY KYMO_LIBRARIES)
get_property(KYMO_COMPONENTS GLOBAL PROPERTY KYMO_COMPONENTS)

# kymo::kymo is every component.
add_library(kymo_all INTERFACE)
add_library(kymo::kymo ALIAS kymo_all)
set_target_properties(kymo_all PROPERTIES EXPORT_NAME kymo)
foreach(component IN LISTS KYMO_COMPONENTS)
  target_link_libraries(kymo_all INTERFACE kymo_library_${component})
endforeach()
# But those for other people's frameworks, which are asked for by name: find_package(kymo COMPONENTS torch).
get_property(integrations GLOBAL PROPERTY KYMO_INTEGRATIONS)
list(APPEND KYMO_COMPONENTS ${integrations})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kymo)
install(TARGETS ${libraries} kymo_all EXPORT kymoTargets)
install(TARGETS kymo_command kymod)
# kymod as a service of the host, and of a user who wants one alone: `systemctl enable --now kymod`, with --user or without.
# Their path to kymod is known when they are installed: `cmake --install --prefix` may name another one.
foreach(kind system user)
  install(CODE "
    set(KYMO_BINDIR \"${CMAKE_INSTALL_BINDIR}\")
    if(NOT IS_ABSOLUTE \"\${KYMO_BINDIR}\")
      get_filename_component(KYMO_BINDIR \"\${CMAKE_INSTALL_PREFIX}/\${KYMO_BINDIR}\" ABSOLUTE)
    endif()
    configure_file(\"${PROJECT_SOURCE_DIR}/packaging/${kind}/kymod.service.in\"
      \"${PROJECT_BINARY_DIR}/packaging/${kind}/kymod.service\" @ONLY)")
  install(FILES ${PROJECT_BINARY_DIR}/packaging/${kind}/kymod.service DESTINATION lib/systemd/${kind})
endforeach()
if(KYMO_FLEET)
  # `kymo watch` as a service of the host; its settings are in /etc/kymo/watch.conf.
  install(CODE "configure_file(\"${PROJECT_SOURCE_DIR}/packaging/system/kymo-watch.service.in\"
    \"${PROJECT_BINARY_DIR}/packaging/system/kymo-watch.service\" @ONLY)")
  install(FILES ${PROJECT_BINARY_DIR}/packaging/system/kymo-watch.service DESTINATION lib/systemd/system)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/packaging/grafana ${PROJECT_SOURCE_DIR}/packaging/kubernetes DESTINATION ${CMAKE_INSTALL_DATADIR}/kymo)
endif()
foreach(module kymo_lttng kymo_malloc kymo_waits kymo_inject_module kymo_plain_cpu kymo_sample_module)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()
if(VULKAN_INCLUDE_DIR AND TARGET kymo_inject_module)
  install(FILES ${PROJECT_SOURCE_DIR}/src/core/inject_library/kymo_layer.json DESTINATION ${CMAKE_INSTALL_LIBDIR}/kymo/vulkan)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/kymo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT kymoTargets NAMESPACE kymo:: DESTINATION ${package_dir})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/kymoConfig.cmake.in ${PROJECT_BINARY_DIR}/kymoConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kymoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kymoConfig.cmake ${PROJECT_BINARY_DIR}/kymoConfigVersion.cmake
  DESTINATION ${package_dir})

# pkg-config: the prefix is found from where kymo.pc lies.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pkgconfig_prefix ${CMAKE_INSTALL_PREFIX})
  set(pkgconfig_libdir ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH up /prefix/${pkgconfig_dir} /prefix)
  string(REGEX REPLACE "/$" "" pkgconfig_prefix "\${pcfiledir}/${up}")
  set(pkgconfig_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pkgconfig_includedir ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(pkgconfig_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
list(TRANSFORM KYMO_STACK_LIBS REPLACE "^PkgConfig::" "-l" OUTPUT_VARIABLE KYMO_EDGE_PRIVATE)
list(JOIN KYMO_EDGE_PRIVATE " " KYMO_STACK_PRIVATE)
if(KYMO_EVENT_LIBS)
  list(APPEND KYMO_EDGE_PRIVATE -lpfm)
endif()
list(JOIN KYMO_EDGE_PRIVATE " " KYMO_EDGE_PRIVATE)
set(packages kymo kymo-ondemand)
if(KYMO_DEVICES)
  list(APPEND packages kymo-shader kymo-device kymo-edge)
endif()
foreach(package IN LISTS packages)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${pkgconfig_dir})
endforeach()
