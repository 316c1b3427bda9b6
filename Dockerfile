# docker build -t partialfair . && docker run --rm -v "$PWD/reproduced:/project/reproduced" partialfair make demo
FROM python:3.11-slim-bookworm

SHELL ["/bin/bash", "-o", "pipefail", "-c"]

# Versions of Debian's packages change with its security updates; results depend on requirements.lock alone.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /project

# The environment first, so that an edit of the source does not install it again.
COPY Makefile pyproject.toml requirements.lock README.md LICENSE ./
COPY src ./src
RUN make .venv/.ready

COPY . .

ENV PATH="/project/.venv/bin:${PATH}"
CMD ["make", "demo"]
