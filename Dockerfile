# One image for all roles: `emds up`, `emds serve`, dagster-webserver, dagster-daemon.
FROM python:3.11-slim
RUN useradd --create-home --uid 10001 emds
WORKDIR /srv/emds
COPY pyproject.toml README.md LICENSE ./
COPY warehouse warehouse
COPY assets assets
COPY orchestration orchestration
COPY api api
COPY geo_data geo_data
COPY dagster.yaml workspace.yaml ./
RUN pip install --no-cache-dir -e '.[pipeline,edge,scale]' && mkdir /data && chown emds /data
USER emds
ENV EMDS_HOME=/data PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8000 3000
CMD ["emds", "up"]
