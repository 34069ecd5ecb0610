#!/usr/bin/env bash
# Installs the packages of a lock file into .venv, checks their hashes and shows the progress.
#   install.sh LOCK STAMP     (PYTHON: another interpreter than python3)
set -euo pipefail
cd "$(dirname "$0")/.."
lock=$1 stamp=$2 python=${PYTHON:-python3} log=.venv/install.log

if ! command -v "$python" >/dev/null; then
  echo "emds needs Python 3.11 or newer, and there is no $python. Install it, or name another: make PYTHON=python3.12" >&2
  exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "emds needs Python 3.11 or newer, and $python is $("$python" -V 2>&1). Name another: make PYTHON=python3.12" >&2
  exit 1
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing python3-venv, which Debian keeps apart"
    apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null
  else
    echo "$python has no venv: install it first (Debian, Ubuntu: apt install python3-venv)" >&2
    exit 1
  fi
fi

"$python" -m venv .venv
# Debian's pip considers a pinned package without its extras unpinned.
.venv/bin/python -m pip install --disable-pip-version-check -q --upgrade pip 2>"$log" || { cat "$log" >&2; exit 1; }
count=$(grep -c '==' "$lock")
echo "installing up to $count packages of $lock into .venv"
if ! .venv/bin/python -m pip install --disable-pip-version-check --progress-bar off --require-hashes -r "$lock" 2>>"$log" |
  tee -a "$log" | awk -v count="$count" '
    /^(Collecting|Processing) / { if (++seen % 20 == 0) { print "  " seen " of " count; fflush() } }
    /^Installing collected/ { print "  unpacking " seen; fflush() }'; then
  tail -n 20 "$log" >&2
  exit 1
fi
PYTHONWARNINGS=ignore .venv/bin/python -m pip install --disable-pip-version-check -q --no-deps --no-build-isolation -e .
rm -f "${stamp%-*}"-*
touch "$stamp"
