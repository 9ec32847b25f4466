# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# To be sourced: an APT that knows this machine's mirror and another release of Debian beside this machine's, and locks and
# changes nothing outside its folder. Needs no root. It downloads packages; it does not install them.

# Reads the package lists of both releases. On failure private_apt_error says why.
private_apt_start() {  # DIR RELEASE
  local dir=$1 other_release=$2 mirror suite
  private_apt_error=
  mirror=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk '$1 == "Debian" && $2 == "Debian" && $3 == "main" { print $4; exit }')
  if [[ -z "$mirror" ]]; then
    private_apt_error="this machine's APT sources name no Debian mirror"
    return 1
  fi
  private_apt_codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  private_apt_dir=$dir
  mkdir -p "$dir/lists/partial" "$dir/archives/partial" "$dir/sources.list.d"
  for suite in "$private_apt_codename" "$other_release"; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
  done >"$dir/sources.list"
  echo "$(basename "$0" .sh): package lists of $private_apt_codename and $other_release from $mirror"
  if ! private_apt update; then
    private_apt_error="the package lists could not be read; check the network"
    return 1
  fi
}

private_apt() {  # update | download PACKAGE/RELEASE...
  apt-get -qq -o Dir::Etc::sourcelist="$private_apt_dir/sources.list" \
    -o Dir::Etc::sourceparts="$private_apt_dir/sources.list.d" -o Dir::State::lists="$private_apt_dir/lists" \
    -o Dir::Cache="$private_apt_dir" -o Dir::Cache::archives="$private_apt_dir/archives" \
    -o Acquire::Languages=none -o APT::Sandbox::User= "$@"
}
