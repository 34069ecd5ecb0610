# One image for all roles: `emds up`, `emds serve`, dagster-webserver, dagster-daemon. Runs as user 10001, on a read-only
# root: it writes to /data, /public and /tmp alone.
#   docker build --build-arg BASE=python:3.11-slim@sha256:<digest> -t emds .
# BASE names the base image; give it with its digest, so that two builds are of one base.
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
# As `emds serve` sets them, with reasons (orchestration/servers/serve.py).
ENV MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=524288 MALLOC_TRIM_THRESHOLD_=4194304 \
    ARROW_DEFAULT_MEMORY_POOL=system OMP_NUM_THREADS=1 ARROW_IO_THREADS=1 OPENBLAS_NUM_THREADS=1
USER 10001:10001
VOLUME ["/data", "/public"]
EXPOSE 8000 3000
STOPSIGNAL SIGTERM
# The API of `emds up` and `emds serve`; a container of another role sets its own.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10m --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
# The container's own address: publish the port to a proxy alone (docs/fleet.md).
CMD ["emds", "up", "--host", "0.0.0.0"]
