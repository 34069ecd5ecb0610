#!/bin/sh
# Installs the system parts that tests need, if it runs as root: Chromium, GDAL, QGIS, nginx, PostgreSQL, wrk, jq, Java and
# R. Tests skip loudly without them. It also installs the npm clients.
set -u
cd "$(dirname "$0")/.."
want=""
command -v chromium-headless-shell >/dev/null || want="$want chromium-headless-shell"
command -v ogrinfo >/dev/null || want="$want gdal-bin"
/usr/bin/python3 -c 'import qgis.core' 2>/dev/null || want="$want python3-qgis"
command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || want="$want nginx-light"
command -v wrk >/dev/null || want="$want wrk"
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null || want="$want postgresql"
command -v jq >/dev/null || want="$want jq"
command -v java >/dev/null || want="$want default-jre-headless"
Rscript -e 'library(httr2); library(jsonlite)' >/dev/null 2>&1 || want="$want r-base-core r-cran-httr2 r-cran-jsonlite"
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
# Each client gets a small environment: official ones for MCP's older protocol versions with libraries of that time, and
# the newest DuckDB whose signed `httpfs` extension is on PyPI.
for pinned in "mcp==1.30.0" "mcp==1.13.0 pydantic==2.11.10" "mcp==1.9.4 pydantic==2.11.10" \
  "duckdb==1.5.5 duckdb-extension-httpfs==1.5.5 pytz==2026.6"; do
  client=".venv/clients/${pinned%% *}"
  if [ ! -e "$client/.done" ]; then
    .venv/bin/python -m venv --without-pip "$client" \
      && .venv/bin/python -m pip --python "$client/bin/python" install -q --disable-pip-version-check $pinned \
      && touch "$client/.done"
  fi
done
exit 0
