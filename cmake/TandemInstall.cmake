# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# What `cmake --install` puts where. Component runtime: the shared library; component development: all that is needed
# to build programs with it. No installed file has an absolute path in it, so the tree may be moved.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Tandem")
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(TARGETS tandem EXPORT TandemTargets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS tandem_static EXPORT TandemStaticTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# Apart from the library, since it is of use only with a driver.
foreach(device vulkan cuda)
  if(TARGET tandem_${device}_module)
    install(TARGETS tandem_${device}_module LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${device})
  endif()
endforeach()
# Apart from the library, too; it finds that from where it is itself.
if(TARGET tandem_tool)
  file(RELATIVE_PATH library_from_tool "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  set_target_properties(tandem_tool PROPERTIES INSTALL_RPATH "$ORIGIN/${library_from_tool}")
  install(TARGETS tandem_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tool)
endif()
foreach(targets TandemTargets TandemStaticTargets)
  install(EXPORT ${targets} NAMESPACE Tandem:: DESTINATION "${package_dir}" COMPONENT development)
endforeach()

foreach(part core backends/cpu backends/gpu backends/tvm backends/vulkan/loader backends/cuda/loader bindings/plugin native)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${part}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
          COMPONENT development FILES_MATCHING PATTERN "*.h")
endforeach()
install(FILES "${PROJECT_SOURCE_DIR}/bindings/c/tandem.h" "${PROJECT_SOURCE_DIR}/bindings/c/tandem_plugin.h"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
install(FILES "${PROJECT_BINARY_DIR}/core/include/tandem/version.h" ${TANDEM_OPS_HEADER}
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tandem" COMPONENT development)

set(TANDEM_LINKS_HIGHWAY OFF)
if(TARGET hwy::hwy)
  set(TANDEM_LINKS_HIGHWAY ON)
endif()
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/TandemConfig.cmake.in" TandemConfig.cmake
                              INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
# While the major version is 0, each minor version may change the interface.
write_basic_package_version_file(TandemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/TandemConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/TandemConfigVersion.cmake"
        DESTINATION "${package_dir}" COMPONENT development)

# From where tandem.pc is to where the tree begins; there is no way if one of the two is given as an absolute path.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  message(FATAL_ERROR "CMAKE_INSTALL_LIBDIR and CMAKE_INSTALL_INCLUDEDIR must be relative to the prefix, got "
                      "${CMAKE_INSTALL_LIBDIR} and ${CMAKE_INSTALL_INCLUDEDIR}")
endif()
file(RELATIVE_PATH TANDEM_PREFIX_FROM_PC "/${pkgconfig_dir}" /)
string(REGEX REPLACE "/$" "" TANDEM_PREFIX_FROM_PC "${TANDEM_PREFIX_FROM_PC}")
set(TANDEM_PC_CFLAGS "")
if(TANDEM_LEAK_ACCOUNTING)
  set(TANDEM_PC_CFLAGS " -DTANDEM_LEAK_ACCOUNTING")
endif()
if(TANDEM_OPS_HEADER)
  string(APPEND TANDEM_PC_CFLAGS " -DTANDEM_SELECTED_OPS")
endif()
set(TANDEM_PC_LIBS_PRIVATE "-pthread")
if(TANDEM_LINKS_HIGHWAY)
  string(PREPEND TANDEM_PC_LIBS_PRIVATE "-lhwy ")
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/tandem.pc.in" tandem.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tandem.pc" DESTINATION "${pkgconfig_dir}" COMPONENT development)

set(doc_dir "${CMAKE_INSTALL_DATAROOTDIR}/doc/tandem")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${doc_dir}" COMPONENT runtime)
install(FILES "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/core/CONTRACT.md" DESTINATION "${doc_dir}"
        COMPONENT development)
# The language of shaders, for those who give shaders as text.
install(FILES "${PROJECT_SOURCE_DIR}/backends/shader/kernels/README.md" DESTINATION "${doc_dir}" RENAME shaders.md
        COMPONENT development)
if(TARGET tandem_docs)
  install(FILES "${PROJECT_BINARY_DIR}/tools/ops.html" DESTINATION "${doc_dir}" COMPONENT development)
endif()
# Where target tandem_reference has been built.
install(DIRECTORY "${PROJECT_BINARY_DIR}/tools/reference/html/" DESTINATION "${doc_dir}/reference"
        COMPONENT development OPTIONAL)
