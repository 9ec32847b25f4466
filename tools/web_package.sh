# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# How the npm package is built, for tools/demo.sh and tools/test_web.sh, which read this file and call its functions from
# the top of the source tree.

in_folder() {  # FOLDER COMMAND...
  local folder=$1
  shift
  (cd "$folder" && "$@")
}

# The WebAssembly modules that a preset gives the package.
build_modules() {  # PRESET
  cmake --preset "$1" && cmake --build --preset "$1" -j "${TANDEM_JOBS:-2}" --target tandem_npm_modules
}

# web/dist, from the modules that there are: those of preset wasm at least.
build_package() {
  in_folder web npm ci --prefer-offline --ignore-scripts && in_folder web npm run build
}

install_examples() {
  in_folder examples npm ci --prefer-offline --ignore-scripts
}
