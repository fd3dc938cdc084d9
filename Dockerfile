# The dashboard as an image: everything from the lock file, checked by its hashes, and nothing that builds.
#     docker compose up        then http://127.0.0.1:8501
# scripts/image.py runs these steps without a container engine.
FROM python:3.13.9-slim-trixie AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
COPY requirements.lock requirements-dev.lock ./
RUN python3 -m venv --without-pip /opt/dpcore && python3 -m venv /opt/build
RUN /opt/build/bin/python -m pip --python /opt/dpcore/bin/python install --require-hashes -r requirements.lock
# What builds the wheel, as the lock file of the tests has it.
RUN awk '/^[a-z]/ { kept = /^(hatchling|packaging|pathspec|pluggy|tomlkit|trove-classifiers)==/ } kept' \
      requirements-dev.lock > build.lock \
    && /opt/build/bin/python -m pip install --require-hashes -r build.lock
COPY . ./
RUN /opt/build/bin/python -m pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /opt/build/bin/python -m pip --python /opt/dpcore/bin/python install --no-index --no-deps /wheels/dpcore-*.whl

FROM python:3.13.9-slim-trixie
COPY --from=build /opt/dpcore /opt/dpcore
# The one folder that lasts: the ledger, its secret and its witness, and finished comparisons.
RUN install -d -o 10001 -g 10001 -m 0700 /state
ENV PATH=/opt/dpcore/bin:/usr/local/bin:/usr/bin:/bin HOME=/state XDG_STATE_HOME=/state XDG_CACHE_HOME=/tmp/cache \
    TMPDIR=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
VOLUME /state
WORKDIR /state
USER 10001:10001
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python3", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
# All addresses of the container; which of the computer's they become is for whoever starts it (compose.yaml). Without
# an address to name, Streamlit would ask a server elsewhere for its own.
CMD ["dpcore", "--no-browser", "--server.address", "0.0.0.0", "--browser.serverAddress", "127.0.0.1", "--port", "8501"]
