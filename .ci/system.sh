#!/bin/sh
# Installs the system parts that tests need, where it may: Chromium, GDAL, PostgreSQL, wrk, and the npm clients.
# Elsewhere the tests that need them are skipped loudly.
set -u
cd "$(dirname "$0")/.."
want=""
command -v chromium >/dev/null || want="$want chromium"
command -v ogrinfo >/dev/null || want="$want gdal-bin"
command -v wrk >/dev/null || want="$want wrk"
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null || want="$want postgresql"
command -v npm >/dev/null || want="$want npm"
if [ -n "$want" ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq --no-install-recommends $want >/dev/null
  else
    echo "not installed (needs root and apt-get):$want; tests that need them are skipped"
  fi
fi
if [ -f tests/node/package.json ] && command -v npm >/dev/null; then
  if [ ! -e tests/node/node_modules/.done ] || [ tests/node/package.json -nt tests/node/node_modules/.done ]; then
    (cd tests/node && npm install --no-audit --no-fund --loglevel=error && touch node_modules/.done)
  fi
fi
exit 0
