# This image has all roles: `emds up`, `emds serve`, dagster-webserver, dagster-daemon. It runs as user 10001 on a read-only
# root and writes only to /data, /public and /tmp.
#   docker build --build-arg BASE=python:3.11-slim@sha256:<digest> -t emds .
# Set BASE to the base image with its digest, so that all builds have the same base.
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
RUN python -m venv /opt/emds
WORKDIR /srv/emds
COPY requirements-image.lock ./
RUN /opt/emds/bin/pip install --no-cache-dir --require-hashes -r requirements-image.lock
COPY pyproject.toml README.md LICENSE ./
COPY warehouse warehouse
COPY assets assets
COPY orchestration orchestration
COPY api api
COPY geo_data geo_data
COPY docs docs
RUN /opt/emds/bin/pip install --no-cache-dir --no-deps --no-build-isolation -e . \
 && /opt/emds/bin/python -m compileall -q warehouse assets orchestration api geo_data \
 && /opt/emds/bin/pip uninstall -q -y pip

FROM ${BASE}
RUN useradd --no-create-home --uid 10001 emds && mkdir /data /public && chown emds:emds /data /public
COPY --from=build /opt/emds /opt/emds
COPY --from=build /srv/emds /srv/emds
WORKDIR /srv/emds
ENV PATH=/opt/emds/bin:$PATH EMDS_HOME=/data HOME=/tmp PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# `emds serve` sets the same values (orchestration/servers/serve.py).
ENV MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=524288 MALLOC_TRIM_THRESHOLD_=4194304 \
    ARROW_DEFAULT_MEMORY_POOL=system OMP_NUM_THREADS=1 ARROW_IO_THREADS=1 OPENBLAS_NUM_THREADS=1
USER 10001:10001
VOLUME ["/data", "/public"]
EXPOSE 8000 3000
STOPSIGNAL SIGTERM
# This checks the API. Containers without it set their own check.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10m --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
# Publish the container's port only to a proxy (docs/fleet.md).
CMD ["emds", "up", "--host", "0.0.0.0"]
