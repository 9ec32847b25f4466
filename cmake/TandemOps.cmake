# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# A build with the ops of a list alone (OR-4): tools/select_ops.py says what a list is. Where there is one, TANDEM_OPS_HEADER
# and TANDEM_OPS_SOURCE are what it gives.

set(TANDEM_OPS "" CACHE FILEPATH "A file with the ops that the build is to have; empty: all")
if(TANDEM_OPS STREQUAL "")
  return()
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
# Of the project that asks, from its top.
get_filename_component(list "${TANDEM_OPS}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
set(TANDEM_OPS_HEADER "${CMAKE_CURRENT_BINARY_DIR}/core/include/tandem/ops_of_build.h")
set(TANDEM_OPS_SOURCE "${CMAKE_CURRENT_BINARY_DIR}/core/ops_of_build.cc")
set(definitions "${CMAKE_CURRENT_SOURCE_DIR}/core/ops/definitions.json")
execute_process(COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/tools/select_ops.py" "${list}" "${definitions}"
                        "${TANDEM_OPS_HEADER}" "${TANDEM_OPS_SOURCE}"
                RESULT_VARIABLE failed ERROR_VARIABLE error ERROR_STRIP_TRAILING_WHITESPACE)
if(failed)
  message(FATAL_ERROR "TANDEM_OPS: ${error}")
endif()
file(GLOB tools "${CMAKE_CURRENT_SOURCE_DIR}/tools/op_codegen/*.py")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}" "${definitions}" ${tools}
                                       "${CMAKE_CURRENT_SOURCE_DIR}/tools/select_ops.py")
