#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Runs dlpack_numpy.py on the shared library $2 with a python3 that has NumPy: $1 or the system's; skips without one.

for candidate in "$1" /usr/bin/python3; do
  if "$candidate" -c 'import numpy; numpy.from_dlpack' 2>/dev/null; then
    exec "$candidate" "$(dirname "$0")/dlpack_numpy.py" "$2"
  fi
done
echo "dlpack_numpy: skipped: no python3 with NumPy 1.22 or later; install python3-numpy, or run tools/setup.sh" >&2
exit 77
