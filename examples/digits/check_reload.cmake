# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Trains for a short while, then fails unless the weights it saved give the very same accuracy, of LEAST percent or more.
# usage: cmake -DDIGITS=PROGRAM -DOPTIONS="--epochs 2" -DWEIGHTS=FILE -DLEAST=90 -P check_reload.cmake

separate_arguments(options UNIX_COMMAND "${OPTIONS}")

# Sets `accuracy` to what the program prints at its end.
function(run_digits accuracy)
  execute_process(COMMAND "${DIGITS}" ${ARGN} OUTPUT_VARIABLE output RESULT_VARIABLE status)
  message("${output}")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "digits ${ARGN} failed: ${status}")
  endif()
  if(NOT output MATCHES "test accuracy: ([0-9.]+) % ")
    message(FATAL_ERROR "digits ${ARGN} printed no accuracy")
  endif()
  set(${accuracy} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

run_digits(trained ${options} --save "${WEIGHTS}")
run_digits(loaded --load "${WEIGHTS}")
if(NOT trained STREQUAL loaded)
  message(FATAL_ERROR "trained to ${trained} %, but the saved weights give ${loaded} %")
endif()
if(trained LESS LEAST)
  message(FATAL_ERROR "expected an accuracy of at least ${LEAST} %, got ${trained} %")
endif()
