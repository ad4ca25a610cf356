# The virtual environment of the benches, made once and reused. Sourced in the repository's root.
venv=.venv-bench

# Sets pip to the command that installs into the environment.
find_pip() {
    if "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        pip=("$venv/bin/python" -m pip)
    else
        pip=(python3 -m pip --python "$venv/bin/python")
    fi
}

# need IMPORTS PACKAGE...: installs the packages unless the imports succeed.
need() {
    local imports=$1
    shift
    "$venv/bin/python" -c "$imports" 2>/dev/null && return
    echo "bench: installing $* into $venv" >&2
    if [ ! -x "$venv/bin/python" ]; then
        # Some systems ship venv without its copy of pip; theirs can install into it instead.
        python3 -m venv "$venv" 2>/dev/null || python3 -m venv --clear --without-pip "$venv"
    fi
    find_pip
    "${pip[@]}" install --quiet --disable-pip-version-check "$@"
}
