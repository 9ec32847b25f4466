# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Which ops the build has (OR-4), and their definitions as data: tools/select_ops.py says what a list is. Where definitions
# are data, TANDEM_OPS_SOURCE has them; where the build has the ops of a list alone, TANDEM_OPS_HEADER says which.

set(TANDEM_OPS "" CACHE FILEPATH "A file with the ops that the build is to have; empty: all")
if(TANDEM_OPS STREQUAL "" AND NOT EMSCRIPTEN)
  return()
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(TANDEM_OPS_SOURCE "${CMAKE_CURRENT_BINARY_DIR}/core/ops_of_build.cc")
set(definitions "${CMAKE_CURRENT_SOURCE_DIR}/core/ops/definitions.json")
if(TANDEM_OPS STREQUAL "")
  # A page that loads all ops loads neither the parser of definitions nor the code that would feed it.
  set(list --all)
else()
  # Of the project that asks, from its top.
  get_filename_component(list "${TANDEM_OPS}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
  set(TANDEM_OPS_HEADER "${CMAKE_CURRENT_BINARY_DIR}/core/include/tandem/ops_of_build.h")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
endif()
execute_process(COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/tools/select_ops.py" "${list}" "${definitions}"
                        "${TANDEM_OPS_SOURCE}" ${TANDEM_OPS_HEADER}
                RESULT_VARIABLE failed ERROR_VARIABLE error ERROR_STRIP_TRAILING_WHITESPACE)
if(failed)
  message(FATAL_ERROR "TANDEM_OPS: ${error}")
endif()
file(GLOB tools "${CMAKE_CURRENT_SOURCE_DIR}/tools/op_codegen/*.py")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${definitions}" ${tools}
                                       "${CMAKE_CURRENT_SOURCE_DIR}/tools/select_ops.py")
