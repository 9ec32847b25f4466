# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# What applies to the whole build, and so only when Tandem is the project being built: build type, ccache, sanitizers.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

find_program(TANDEM_CCACHE ccache)
mark_as_advanced(TANDEM_CCACHE)
if(TANDEM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TANDEM_CCACHE}")
endif()

if(TANDEM_SANITIZE)
  # The vptr check is made in tests/package, over programs as users have them; in all of the tests it would take long.
  set(flags -fsanitize=${TANDEM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(TANDEM_SANITIZE MATCHES "undefined")
    list(APPEND flags -fno-sanitize=vptr)
  endif()
  add_compile_options(${flags})
  add_link_options(${flags})
endif()
