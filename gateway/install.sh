# install.sh - shell functions that bring a machine to where Cellblock can be built and run.
# Sourced by gateway/start, gateway/add-kernel and tests/run, under `set -euo pipefail`.
#
# Every step may be interrupted, repeated, and done by two at the same time: it takes a lock, looks
# again, and leaves its mark (a stamp, a rename) as the last thing it does. The lock's descriptor
# lives in a subshell, so nothing that is started later inherits it. No process substitution: bash
# does not wait for those, and the server that this shell becomes would keep them as zombies.
# shellcheck shell=bash

export HOME=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
cellblock_root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
cellblock_cache=${XDG_CACHE_HOME:-$HOME/.cache}/cellblock
debian_python=/usr/bin/python3 # never the one on PATH: it may lie in a private home
# shellcheck source=/dev/null
debian_release=$(. /etc/os-release && echo "${VERSION_ID:-99}")

say() {
    printf 'cellblock: %s\n' "$*" >&2
}

fail() {
    say "$@"
    exit 1
}

# locked FILE COMMAND...: runs COMMAND while it alone holds FILE.
locked() {
    local file=$1
    shift
    mkdir -p -- "$(dirname -- "$file")"
    (
        flock 9
        "$@"
    ) 9>>"$file"
}

# package_names FILE...: the packages that this Debian release has.
package_names() {
    local name since
    cat -- "$@" | while read -r name since; do
        [[ -z $name || $name == \#* || ${debian_release%%.*} -lt ${since:-0} ]] || echo "$name"
    done
}

# missing_packages NAME...: those that are not wholly installed.
missing_packages() {
    local installed
    installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "$@" 2>/dev/null || true)
    installed=$(sed -n 's/^.i //p' <<<"$installed")
    printf '%s\n' "$@" | grep -vxF -e "$installed" || true
}

apt_quietly() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 "$@" </dev/null >&2
}

# The package lists have a lock that apt does not wait for. Where no server answers, the lists that
# are here may still do.
update_lists() {
    local try
    for try in 1 2 3; do
        apt_quietly update && return
        say "apt-get update failed (try $try of 3)"
        sleep 3
    done
    say "going on with the package lists that are here"
}

install_missing() {
    local missing
    mapfile -t missing <<<"$(missing_packages "$@")"
    [[ -n ${missing[*]} ]] || return 0 # another run was quicker
    # What an interrupted run left half-configured.
    DEBIAN_FRONTEND=noninteractive dpkg --configure -a --force-confold </dev/null >&2
    update_lists
    apt_quietly install --no-install-recommends "${missing[@]}"
}

# need_packages FILE...: installs the Debian packages that these lists name.
need_packages() {
    local names missing
    mapfile -t names <<<"$(package_names "$@")"
    mapfile -t missing <<<"$(missing_packages "${names[@]}")"
    [[ -n ${missing[*]} ]] || return 0
    if ((EUID != 0)); then
        say "these Debian packages are missing; as root, run:"
        say "  apt-get update && apt-get install --no-install-recommends ${missing[*]}"
        exit 1
    fi
    say "installing Debian packages: ${missing[*]}"
    locked "$cellblock_cache/packages.lock" install_missing "${names[@]}"
}

# In one chain, because the caller looks at its status, which turns `set -e` off inside.
unpack_llhttp() {
    local target=$cellblock_cache/llhttp work=$cellblock_cache/llhttp.new
    [[ ! -d $target ]] || return 0
    # apt's own user may not write there, so the download is not sandboxed.
    rm -rf -- "$work" && mkdir -- "$work" && cd "$work" &&
        apt-get -q -o APT::Sandbox::User= download node-llhttp </dev/null >&2 &&
        dpkg -x node-llhttp_*.deb unpacked &&
        mv -T -- unpacked "$target" &&
        rm -r -- "$work"
}

# need_llhttp: where Debian has no libllhttp-dev (before 13), the sources in its node-llhttp are
# unpacked beside our other caches; the package itself would bring Node along.
need_llhttp() {
    ((${debian_release%%.*} < 13)) || return 0
    [[ ! -d $cellblock_cache/llhttp ]] || return 0
    say "fetching llhttp's sources from Debian's node-llhttp"
    locked "$cellblock_cache/llhttp.lock" unpack_llhttp ||
        fail "node-llhttp cannot be downloaded; as root, run apt-get update, then try again"
}

# tests_folder NAME LIST: where the environment of the tests lies that LIST, a file below tests/,
# describes. Named by that file's content, so that clones of several ages on one machine do not
# remake each other's.
tests_folder() {
    echo "$cellblock_cache/tests-$1-$(cksum <"$cellblock_root/tests/$2" | cut -d' ' -f1)"
}

python_stamp() {
    { "$debian_python" -VV && cat -- "$1"; } | sha256sum | cut -d' ' -f1
}

make_python() {
    local prefix=$1 requirements=$2 stamp
    stamp=$(python_stamp "$requirements")
    [[ $(cat -- "$prefix/.stamp" 2>/dev/null) != "$stamp" ]] || return 0
    rm -rf -- "$prefix"
    # -I: nothing of the folder that this is called in, which somebody else may write to.
    "$debian_python" -I -m venv "$prefix" >&2
    "$prefix/bin/pip" -q --no-input --disable-pip-version-check install -r "$requirements" \
        </dev/null >&2
    echo "$stamp" >"$prefix/.stamp"
}

# need_python PREFIX REQUIREMENTS: a virtual environment at PREFIX with what the file lists, made
# anew where the file or Debian's Python has changed. Everybody may read it: a kernel runs as a
# user of its own.
need_python() {
    local prefix=$1 requirements=$2
    [[ $(cat -- "$prefix/.stamp" 2>/dev/null) != "$(python_stamp "$requirements")" ]] || return 0
    say "making a Python environment in $prefix from $requirements (about a minute)"
    (umask 022 && locked "$prefix.lock" make_python "$prefix" "$requirements")
}

home_stamp() {
    {
        cat -- "$1/.stamp" "$cellblock_root/gateway/make_home.py"
        dpkg-query -W 'fonts-*' 2>/dev/null || true
    } | sha256sum | cut -d' ' -f1
}

make_home() {
    local shared=$1/share/cellblock stamp
    stamp=$(home_stamp "$1")
    [[ $(cat -- "$shared/.stamp" 2>/dev/null) != "$stamp" ]] || return 0
    rm -rf -- "$shared"
    mkdir -p -- "$shared/home"
    "$1/bin/python" "$cellblock_root/gateway/make_home.py" "$shared/home" </dev/null >&2
    echo "$stamp" >"$shared/.stamp"
}

# need_home PREFIX: in the environment at PREFIX, what the workspace of every session begins with;
# made anew where the environment or the system's fonts have changed.
need_home() {
    [[ $(cat -- "$1/share/cellblock/.stamp" 2>/dev/null) != "$(home_stamp "$1")" ]] || return 0
    say "listing fonts for $1"
    (umask 022 && locked "$1.lock" make_home "$1")
}

# kernels_prefix: where the kernels' Python environment lies. Outside the clone, so that a kernel can
# be shown it whatever the clone's own folders allow.
kernels_prefix() {
    if ((EUID == 0)); then
        echo /var/lib/cellblock/python
    else
        echo "${XDG_DATA_HOME:-$HOME/.local/share}/cellblock/python"
    fi
}

# added_kernels: the prefix below which gateway/add-kernel installs, beside the kernels' Python.
added_kernels() {
    echo "$(dirname -- "$(kernels_prefix)")/kernels"
}

configure_and_build() {
    local build=$1 source
    shift
    # A build folder that came here with its clone knows another place.
    source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt" 2>/dev/null || true)
    [[ -z $source || $source == "$cellblock_root" ]] || rm -rf -- "$build"
    if [[ $(cat -- "$build/.options" 2>/dev/null) != "$*" || ! -f $build/build.ninja ]]; then
        cmake -S "$cellblock_root" -B "$build" -G Ninja "$@" >&2
        echo "$*" >"$build/.options"
    fi
    ninja --quiet -C "$build" 2>&1 | sed '/: no work to do\.$/d' >&2
}

# build FOLDER OPTION...: configures where needed, and compiles what has changed. Everybody may run
# the programs: the gateway has a user of its own.
build() {
    local folder=$1
    shift
    [[ -f $folder/build.ninja ]] || say "building in $folder"
    (umask 022 && locked "$folder.lock" configure_and_build "$folder" \
        "-DLLHTTP_ROOT=$cellblock_cache/llhttp/usr" "$@")
}

node_stamp() {
    { node --version && cat -- "$1"; } | sha256sum | cut -d' ' -f1
}

make_node_modules() {
    local folder=$1 manifest=$2 stamp
    stamp=$(node_stamp "$manifest")
    [[ $(cat -- "$folder/.stamp" 2>/dev/null) != "$stamp" ]] || return 0
    rm -rf -- "$folder"
    mkdir -p -- "$folder"
    cp -- "$manifest" "$folder/package.json"
    npm --prefix "$folder" install --no-audit --no-fund --loglevel=error </dev/null >&2
    echo "$stamp" >"$folder/.stamp"
}

# need_node_modules FOLDER MANIFEST: FOLDER/node_modules with what the package.json lists, by the
# node and npm on PATH.
need_node_modules() {
    local folder=$1 manifest=$2
    [[ $(cat -- "$folder/.stamp" 2>/dev/null) != "$(node_stamp "$manifest")" ]] || return 0
    say "installing Node packages in $folder from $manifest"
    locked "$folder.lock" make_node_modules "$folder" "$manifest"
}
