# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Provides tandem_gtest: the installed GoogleTest, or one built from source where the installed one is for another
# target (the 32-bit build, cross builds, WebAssembly).

add_library(tandem_gtest INTERFACE)
find_package(Threads REQUIRED)

set(TANDEM_GTEST_SOURCE_DIR /usr/src/googletest/googletest CACHE PATH "GoogleTest's sources, for builds for another target")

if(CMAKE_SIZEOF_VOID_P EQUAL 8 AND NOT CMAKE_CROSSCOMPILING)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    message(FATAL_ERROR "GoogleTest was not found: run tools/setup.sh, or install libgtest-dev, or configure with "
                        "-DTANDEM_BUILD_TESTS=OFF")
  endif()
  target_link_libraries(tandem_gtest INTERFACE GTest::gtest Threads::Threads)
else()
  if(NOT EXISTS "${TANDEM_GTEST_SOURCE_DIR}/src/gtest-all.cc")
    message(FATAL_ERROR "no GoogleTest sources in ${TANDEM_GTEST_SOURCE_DIR}: run tools/setup.sh, or install the "
                        "package googletest, or set TANDEM_GTEST_SOURCE_DIR, or configure with -DTANDEM_BUILD_TESTS=OFF")
  endif()
  add_library(tandem_gtest_built STATIC EXCLUDE_FROM_ALL "${TANDEM_GTEST_SOURCE_DIR}/src/gtest-all.cc")
  target_compile_features(tandem_gtest_built PUBLIC cxx_std_20)
  target_include_directories(tandem_gtest_built SYSTEM PUBLIC "${TANDEM_GTEST_SOURCE_DIR}/include"
                                                PRIVATE "${TANDEM_GTEST_SOURCE_DIR}")
  target_link_libraries(tandem_gtest_built PUBLIC Threads::Threads)
  if(EMSCRIPTEN)
    target_compile_options(tandem_gtest_built PRIVATE -fwasm-exceptions)
  endif()
  target_link_libraries(tandem_gtest INTERFACE tandem_gtest_built)
endif()
